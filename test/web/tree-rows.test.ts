// The tree of cells.
import { expect, test } from 'vitest';
import { rowFigures, rowOf, treeRows } from '../../web/src/panes/tree-rows.ts';
import { testRandom } from './random.ts';
import { ended, started, viewOf } from './view.ts';
import type { Given } from './view.ts';

const none: ReadonlySet<string> = new Set();

const namesOf = (events: readonly Given[], toggled = none) =>
  treeRows(viewOf(events), toggled).map(({ depth, name }) => `${'-'.repeat(depth)}${name}`);

const small = [
  started('root', null, { agent: 'lead' }),
  started('a', 'root', { agent: 'op' }),
  started('b', 'root', { agent: 'op' }),
  started('a1', 'a', { agent: 'deep' }),
];

const many = (count: number, parent = 'root', agent = 'worker'): readonly Given[] =>
  Array.from({ length: count }, (_, at) => started(`${parent}-${agent}${at}`, parent, { agent })).flatMap((one) => [
    one,
    ended(one.cell!),
  ]);

test('cells stand below the one that started them, and those of one agent are numbered', () => {
  expect(namesOf(small)).toEqual(['lead', '-op', '--deep', '-op#2']);
});

test('a closed row hides what is below it, and says how much', () => {
  const rows = treeRows(viewOf(small), new Set(['root']));
  expect(rows).toMatchObject([{ name: 'lead', isOpen: false, hidden: 3 }]);
});

test('many siblings that are alike are one row, until it is opened', () => {
  const events = [started('root', null, { agent: 'lead' }), ...many(38), started('x', 'root', { agent: 'judge' })];
  expect(namesOf(events)).toEqual(['lead', '-worker ×38', '-judge']);
  const id = treeRows(viewOf(events), none)[1]!.id;
  expect(namesOf(events, new Set([id]))).toHaveLength(41);
});

test('a cell that failed is never folded away', () => {
  const failed = Array.from({ length: 15 }, (_, at) => [
    started(`f${at}`, 'root', { agent: 'worker' }),
    ended(`f${at}`, { status: 'failed' }),
  ]);
  const events = [started('root', null, { agent: 'lead' }), ...many(38), ...failed.flat()];
  expect(namesOf(events)).toHaveLength(17);
});

test('of a large run only the upper levels are open at first', () => {
  const deep = Array.from({ length: 100 }, (_, at) => [
    started(`p${at}`, 'root', { agent: `agent${at}` }),
    started(`q${at}`, `p${at}`, { agent: `below${at}` }),
    started(`r${at}`, `q${at}`, { agent: `deep${at}` }),
  ]);
  const rows = treeRows(viewOf([started('root', null), ...deep.flat()]), none);
  expect(rows).toHaveLength(201);
  expect(rows[2]).toMatchObject({ depth: 2, isOpen: false, hidden: 1 });
});

// invariant: tree-whole
test('every cell is in exactly one row, shown or folded, whatever is opened and closed', () => {
  for (let seed = 0; seed < 200; seed++) {
    const { below } = testRandom(seed);
    const ids = ['root'];
    const events = [started('root', null)];
    for (let at = below(120); at > 0; at--) {
      const parent = ids[below(Math.min(ids.length, 6))]!;
      ids.push(`c${at}`);
      events.push(started(`c${at}`, parent, { agent: `agent${below(3)}` }));
      if (below(2) === 0) events.push(ended(`c${at}`, { status: below(3) === 0 ? 'failed' : 'completed' }));
    }
    const view = viewOf(events);
    const all = treeRows(view, none);
    const toggled = new Set(all.filter(() => below(4) === 0).map(({ id }) => id));
    const rows = treeRows(view, toggled);
    const shown = rows.flatMap(({ cell }) => (cell === null ? [] : [cell.cell]));
    expect(new Set(shown).size).toBe(shown.length);
    // A folded cell has its own cells folded with it.
    const folded = rows.flatMap((row) => (row.cell === null && row.isOpen === false ? row.cells : []));
    const belowFolded = folded.reduce((sum, { cell }) => sum + 1 + countBelow(view, cell), 0);
    const closed = rows.reduce((sum, { cell, hidden }) => sum + (cell === null ? 0 : hidden), 0);
    expect(shown.length + belowFolded + closed).toBe(ids.length);
  }
});

const countBelow = (view: ReturnType<typeof viewOf>, of: string): number =>
  [...view.cells.values()]
    .filter(({ parent }) => parent === of)
    .reduce((sum, { cell }) => sum + 1 + countBelow(view, cell), 0);

test('a cell is found in its row, or in the row it is folded into', () => {
  const rows = treeRows(viewOf([started('root', null), ...many(20)]), none);
  expect(rowOf(rows, 'root')).toBe(0);
  expect(rowOf(rows, 'root-worker7')).toBe(1);
  expect(rowOf(rows, 'gone')).toBe(-1);
  expect(rowOf(rows, undefined)).toBe(-1);
});

test('the figures of a row are the sums of its cells, and an unknown price makes the sum unknown', () => {
  const asked = (usd: number | null): readonly Given[] => [
    { type: 'model-start', cell: 'root', op: 1, turn: 1, model: 'm', promptBytes: 1 },
    { type: 'model-end', cell: 'root', op: 1, ok: true, calls: 0, inputTokens: 10, outputTokens: 2, usd, ms: 1 },
  ];
  const figures = (usd: number | null) =>
    rowFigures(treeRows(viewOf([started('root', null, { at: 0 }), ...asked(usd)]), none)[0]!, 500);
  expect(figures(0.5)).toEqual({ requests: 1, tools: 0, inputTokens: 10, outputTokens: 2, usd: 0.5, ms: 500 });
  expect(figures(null).usd).toBeNull();
});
