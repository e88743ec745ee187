// The X-ray on simulated runs: origins, trails and hashes are computed from the record.
import { expect, test } from 'vitest';
import type { CellId } from '#base';
import type { Explanation, Frame } from '#contracts';
import { explainCell } from '#core/audit';
import { projectEvents, readLedgers, reportRun } from '#core/events';
import { applyEvent, newRunView } from '#headends/run-view';
import type { RunView } from '#headends/run-view';
import { runSeed } from '../../sim/index.ts';
import { checkChain, sha256Hex } from '../../web/src/xray/hashes.ts';
import { groupParts, readRequest, segmentsShown } from '../../web/src/xray/origin.ts';
import type { NameOf } from '../../web/src/xray/origin.ts';
import { buildTrail } from '../../web/src/xray/trail.ts';
import { findAll, sentenceAt } from '../../web/src/xray/text-pieces.ts';
import { findWhereabouts } from '../../web/src/xray/whereabouts.ts';

const seeds = Array.from({ length: 14 }, (_, index) => 700 + index);

type Run = {
  readonly frames: readonly Frame[];
  readonly view: RunView;
  readonly explanations: ReadonlyMap<string, Explanation>;
  readonly outputs: ReadonlyMap<string, string>;
};

const overWire = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

const readRun = async (frames: readonly Frame[]): Promise<Run> => {
  const view = newRunView();
  const fold = projectEvents('answers', false);
  for (const event of frames.flatMap((frame) => fold.next(frame))) applyEvent(view, overWire(event));
  const explanations = new Map<string, Explanation>();
  for (const cell of view.cells.keys()) explanations.set(cell, overWire(await explainCell(frames, cell)));
  const { cells } = await reportRun(frames, 'interrupted', { sees: 'contents' });
  const outputs = new Map(cells.flatMap(({ cell, outcome }) => (outcome === null ? [] : [[cell, outcome.output]])));
  return { frames, view, explanations, outputs };
};

const simulated = async (): Promise<readonly Run[]> => {
  const runs: Run[] = [];
  for (const seed of seeds) {
    const { history } = await runSeed(seed, { keepHistory: true });
    for (const { frames } of history!.runs) if (frames.length > 0) runs.push(await readRun(frames));
  }
  return runs;
};

const runs = simulated();

const namesIn =
  ({ cells }: RunView): NameOf =>
  (end) =>
    end === 'outside' ? 'you' : (cells.get(end as CellId)?.agent ?? end);

const contextOf = ({ view, explanations, outputs }: Run) => ({
  view,
  nameOf: namesIn(view),
  explain: async (cell: string) => explanations.get(cell)!,
  outputOf: (cell: string) => outputs.get(cell),
});

// invariant: origin-computed
test('every byte of every prompt of a sound run has an origin, and a changed record shows how many have none', async () => {
  let requests = 0;
  for (const run of await runs)
    for (const explanation of run.explanations.values())
      for (const { op, bytes } of explanation.attempts) {
        const segments = segmentsShown(explanation, op);
        const request = readRequest(explanation, op, namesIn(run.view))!;
        expect(request.unattributed).toBe(0);
        expect(request.parts.length).toBe(segments.length);
        expect(groupParts(request.parts).reduce((sum, group) => sum + group.bytes, 0)).toBe(bytes);
        const lost = segments[0]!;
        const without = explanation.segments.map((one) => (one === lost ? { ...one, trail: [] } : one));
        expect(readRequest({ ...explanation, segments: without }, op, namesIn(run.view))!.unattributed).toBe(
          lost.bytes,
        );
        requests++;
      }
  expect(requests).toBeGreaterThan(60);
});

test('every part has a title and an origin in words, never the name of a rule', async () => {
  const titles = new Set<string>();
  for (const run of await runs)
    for (const explanation of run.explanations.values())
      for (const { op } of explanation.attempts)
        for (const { title, origin } of readRequest(explanation, op, namesIn(run.view))!.parts) {
          expect(`${title} ${origin}`).not.toMatch(/@\d|undefined|nobody|unknown/u);
          titles.add(title.split(' ')[0]!);
        }
  expect(titles.size).toBeGreaterThan(5);
});

// invariant: trail-by-record
test('every trail ends at a person, a file, a server or the runtime, in rooms that exist', async () => {
  const ends = new Set<string>();
  let trails = 0;
  for (const run of await runs)
    for (const explanation of run.explanations.values()) {
      const { cell, attempts } = explanation;
      const op = attempts.at(-1)?.op ?? -1;
      for (const { id: segment } of segmentsShown(explanation, op)) {
        const stops = await buildTrail(contextOf(run), { cell, op, segment, find: '' });
        for (const stop of stops)
          if (stop.cell !== undefined) expect(run.view.cells.has(stop.cell as CellId)).toBe(true);
        expect(stops[0]!.title).toBe('You are here');
        expect(stops.at(-1)!.title).toMatch(
          /^(?:You |It came with your|It is from earlier|The agent file of|Server .* listed|The runtime wrote|Skill )/u,
        );
        ends.add(stops.at(-1)!.title.split(' ')[0]!);
        trails++;
      }
    }
  expect(trails).toBeGreaterThan(150);
  expect(ends.size).toBeGreaterThan(2);
});

test('a text that a tool said is followed through the room that repeated it', async () => {
  const found = 'columns are read one by one';
  const segment = (id: number, rule: string, more: object) => ({
    id,
    bytes: 10,
    shownIn: { first: 0, last: 4 },
    found: [],
    text: '',
    origin: { rule, of: [] },
    trail: [],
    ...more,
  });
  const goal = { type: 'crossing', kind: 'goal', grant: 'goal', sha256: 'a'.repeat(64), bytes: 5, labels: [] };
  const engineer = {
    cell: 'engineer',
    agent: 'engineer',
    attempts: [
      { op: 1, turn: 1, model: 'm', bytes: 10 },
      { op: 3, turn: 2, model: 'm', bytes: 30 },
    ],
    segments: [
      segment(0, 'goal@1', {
        text: 'how?',
        origin: { rule: 'goal@1', of: [{ from: 'crossing', seq: 0 }] },
        trail: [
          { ...goal, from: 'lead', to: 'engineer' },
          { type: 'operation', cell: 'lead', agent: 'lead', op: 0, name: 'model:m' },
        ],
      }),
      segment(1, 'reply@1', {
        shownIn: { first: 3, last: 3 },
        text: 'notes__internals {"query":"all"}',
        origin: { rule: 'reply@1', of: [{ from: 'reply', no: 1, part: 0 }] },
        trail: [{ type: 'operation', cell: 'engineer', agent: 'engineer', op: 1, name: 'model:m' }],
      }),
      segment(2, 'tool-result@1', {
        shownIn: { first: 3, last: 3 },
        text: `- ${found}.`,
        origin: {
          rule: 'tool-result@1',
          of: [
            { from: 'reply', no: 1, part: 0 },
            { from: 'operation', no: 2 },
          ],
        },
        trail: [
          { type: 'operation', cell: 'engineer', agent: 'engineer', op: 1, name: 'model:m' },
          { type: 'operation', cell: 'engineer', agent: 'engineer', op: 2, name: 'tool:notes__internals' },
        ],
      }),
    ],
  };
  const lead = {
    cell: 'lead',
    agent: 'lead',
    attempts: [
      { op: 0, turn: 1, model: 'm', bytes: 10 },
      { op: 4, turn: 2, model: 'm', bytes: 20 },
    ],
    segments: [
      segment(0, 'goal@1', {
        origin: { rule: 'goal@1', of: [{ from: 'crossing', seq: 0 }] },
        trail: [{ ...goal, from: 'outside', to: 'lead' }],
      }),
      segment(1, 'child-result@1', {
        shownIn: { first: 4, last: 4 },
        text: `They say ${found}`,
        origin: { rule: 'child-result@1', of: [{ from: 'crossing', seq: 1 }] },
        trail: [
          { ...goal, kind: 'result', grant: 'result', sha256: 'b'.repeat(64), from: 'engineer', to: 'lead' },
          { type: 'operation', cell: 'engineer', agent: 'engineer', op: 3, name: 'model:m' },
        ],
      }),
    ],
  };
  const cells = new Map(Object.entries({ lead, engineer })) as unknown as ReadonlyMap<string, Explanation>;
  const context = {
    view: newRunView(),
    nameOf: (end: string) => (end === 'outside' ? 'you' : end),
    explain: async (cell: string) => cells.get(cell)!,
    outputOf: () => found,
  };
  const stops = await buildTrail(context, { cell: 'lead', op: 4, segment: 1, find: found });
  expect(stops.map(({ title }) => title)).toEqual([
    'You are here',
    'Result crossed from engineer',
    'engineer wrote that result',
    'notes/internals answered',
    'engineer asked for it',
    'Goal crossed from lead',
    'lead wrote that goal',
    'You asked',
  ]);
  expect(stops[4]!.text).toBe('{"query":"all"}');
});

test('a text is said to be exactly in the rooms whose model was shown it', async () => {
  let checked = 0;
  for (const run of await runs) {
    const explanations = [...run.explanations.values()];
    const { cell, attempts, segments } = explanations.at(-1)!;
    const words = segments.at(-1)?.text.slice(0, 40);
    if (words === undefined || words === '') continue;
    const known = { view: run.view, explanations, outputOf: () => undefined, nameOf: (one: string) => one };
    const { also, notIn } = findWhereabouts(words, { cell, op: attempts[0]!.op }, known);
    for (const one of explanations) {
      const holds = one.segments.some(({ shownIn, text }) => shownIn !== null && text.includes(words));
      expect(notIn.includes(one.cell)).toBe(!holds);
      if (one.cell !== cell) expect(also.some((text) => text.startsWith(`${one.cell} request`))).toBe(holds);
    }
    checked++;
  }
  expect(checked).toBeGreaterThan(3);
});

test('the ledger of every cell is a chain, and a changed, dropped or exchanged entry breaks it', async () => {
  let links = 0;
  for (const { frames } of await runs)
    for (const ledger of overWire(readLedgers(frames))) {
      expect(await checkChain(ledger)).toEqual({ links: ledger.links.length, broken: null, unchecked: false });
      const [first, second, ...rest] = ledger.links;
      links += ledger.links.length;
      if (first === undefined || second === undefined) continue;
      const changed = { ...first, entries: first.entries.map((entry) => ({ ...entry, bytes: entry.bytes + 1 })) };
      expect((await checkChain({ links: [changed, second, ...rest] })).broken).toBe(first.frame);
      expect((await checkChain({ links: [second, ...rest] })).broken).toBe(second.frame);
      expect((await checkChain({ links: [second, first, ...rest] })).broken).toBe(second.frame);
    }
  expect(links).toBeGreaterThan(60);
});

test('a hash in the browser is that of the record', async () => {
  expect(await sha256Hex('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
});

test('a click gives the sentence around it, without the marks of a list', () => {
  const text = 'Found:\n- DuckDB keeps columns. It is fast (https://notes.example/a.b). Done\n\n| last';
  const piece = (at: number): string | null => {
    const span = sentenceAt(text, at);
    return span === null ? null : text.slice(span.from, span.to);
  };
  expect(piece(0)).toBe('Found:');
  expect(piece(text.indexOf('keeps'))).toBe('DuckDB keeps columns.');
  expect(piece(text.indexOf('notes'))).toBe('It is fast (https://notes.example/a.b).');
  expect(piece(text.indexOf('Done'))).toBe('Done');
  expect(piece(text.indexOf('\n\n') + 1)).toBe(null);
  expect(piece(text.length)).toBe('last');
});

test('what is found stands where it is said to stand, capitals or not', () => {
  const text = 'İ DuckDB and duckdb';
  expect(findAll('DuckDB and duckdb', 'DUCKDB').map(({ from }) => from)).toEqual([0, 11]);
  for (const { from, to } of findAll(text, 'duckdb')) expect(text.slice(from, to)).toBe('duckdb');
  expect(findAll(text, '')).toEqual([]);
});
