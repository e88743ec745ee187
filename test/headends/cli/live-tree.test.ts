import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { cli, emulate, eventsOf, scene, settle, startCli } from './driver.ts';
import type { Scene, Terminal } from './driver.ts';

/** Runs until this many events have come; the tree is drawn after each interval. */
const drawnAfter = async (events: number, given: Scene, terminal: Terminal = {}) => {
  const run = startCli(['run', 'lead', 'x'], given, {
    terminal: { tty: true, ...terminal },
    behaviour: { holdAfter: events },
  });
  await settle();
  await run.pass(100);
  return run;
};
const screenOf = (bytes: string, { columns = 80, rows = 24 }: Terminal = {}) => emulate(bytes, columns, rows);

test('the tree shows what each cell is doing', async () => {
  const states: Readonly<Record<number, RegExp>> = {
    3: /^● lead +model rehearsal +1 +0 +0\/0 +\$0\.0000/mu,
    5: /^● lead +waiting for a child +1 +1 +1\.2k\/300 +\$0\.0123/mu,
    9: /^● └─researcher +tool search +1 +1 /mu,
    11: /^✓ └─researcher /mu,
    13: /^● lead +waiting to retry/mu,
  };
  for (const [events, row] of Object.entries(states)) {
    const run = await drawnAfter(Number(events), scene());
    expect(screenOf(run.screen()).lines.join('\n')).toMatch(row);
  }
});

// invariants: screen-cursor-below, screen-closed-whole
test('redrawing leaves nothing of the tree but the answer and the summary', async () => {
  const run = await drawnAfter(5, scene());
  for (let tick = 0; tick < 20; tick++) await run.pass(100);
  expect(screenOf(run.screen()).cursorVisible).toBe(false);
  run.interrupt();
  await run.code;
  const { lines, cursorVisible } = screenOf(run.screen());
  expect(lines.slice(0, 4)).toEqual(['SQLite for rows,', 'DuckDB for columns.', '', 'Summary']);
  expect(cursorVisible).toBe(true);
  // The commands to paste may be longer; everything before them fits.
  const [figures = ''] = run.screen().split('Workspace:');
  expect(screenOf(figures).wrapped).toBe(false);
});

test('it is redrawn at most ten times a second', async () => {
  const run = await drawnAfter(5, scene());
  const draws = (): number => run.screen().split('\u001B[J').length;
  const before = draws();
  for (let tick = 0; tick < 100; tick++) await run.pass(10);
  expect(draws() - before).toBeLessThanOrEqual(11);
  expect(draws() - before).toBeGreaterThanOrEqual(9);
  expect(run.shortestMs()).toBeGreaterThanOrEqual(100);
});

// invariant: screen-drawing-fits
test('with more cells than rows, running cells are shown, the rest is counted, and nothing scrolls away', async () => {
  const given = scene({ children: 40 });
  const terminal = { rows: 12 };
  // All children started, 20 of them ended, the next one is running.
  const run = await drawnAfter(4 + 40 + 20 * 6 + 2, given, terminal);
  for (let tick = 0; tick < 5; tick++) await run.pass(100);
  const { lines } = screenOf(run.screen(), terminal);
  expect(lines.length).toBeLessThan(12);
  expect(lines[1]).toMatch(/^● lead +waiting for 40 children/u);
  expect(lines.filter((line) => line.startsWith('● ├─') || line.startsWith('● └─'))).toHaveLength(1);
  expect(lines.join('\n')).toMatch(/ … 14 more/u);
});

test('a running child stays in view, however many others have ended since', async () => {
  const terminal = { rows: 12 };
  const run = await drawnAfter(4 + 40 + 4 + 30 * 6, scene({ children: 40, lingers: true }), terminal);
  const { lines } = screenOf(run.screen(), terminal);
  expect(lines[2]).toMatch(/^● ├─researcher +tool search/u);
  expect(lines.join('\n')).toMatch(/ … 24 more/u);
});

// invariant: screen-closed-whole
test('when the command is left, every cell is shown', async () => {
  const terminal = { tty: true, rows: 10 };
  const behaviour = { holdAfter: 4 + 40 + 40 * 6, deaf: true };
  const run = startCli(['run', 'lead', 'x'], scene({ children: 40 }), { terminal, behaviour });
  await settle();
  run.interrupt();
  await run.pass(500);
  run.interrupt();
  await run.code;
  const { lines, cursorVisible } = screenOf(run.screen(), terminal);
  expect(lines.filter((line) => /^✓ [├└]─researcher/u.test(line))).toHaveLength(40);
  expect(cursorVisible).toBe(true);
});

// invariant: width-never-less
test('no line is wider than the terminal, whatever the text', () =>
  fc.assert(
    fc.asyncProperty(
      fc.string({ unit: fc.constantFrom('a', '界', '😀', ' ', 'é', '\n'), maxLength: 120 }),
      fc.integer({ min: 24, max: 130 }),
      fc.integer({ min: 1, max: 16 }),
      async (words, columns, events) => {
        const given = scene({ agent: words, childAgent: `x${words}`, tool: words, model: words, goal: words });
        const run = await drawnAfter(Math.min(events, eventsOf(given).length - 1), given, { columns });
        await run.pass(300);
        expect(screenOf(run.screen(), { columns }).wrapped).toBe(false);
      },
    ),
    { numRuns: 200 },
  ));

test('a stdout that is not a terminal gets only the answer, with plain lines on stderr', async () => {
  const { stdout, stderr } = await cli(['run', 'lead', 'x'], scene({ refused: true }));
  expect(stdout).toBe('SQLite for rows,\nDuckDB for columns.\n');
  expect(stderr.split('\n').slice(0, 9)).toEqual([
    '12:00:00 lead  started run 4f2a9c01d3e5: Compare SQLite and DuckDB',
    '12:00:00 lead  model rehearsal ok 900 ms, 1.2k tokens in, 300 out, $0.0123',
    '12:00:00 lead  → researcher  started',
    '12:00:00 child:researcher  model rehearsal ok 900 ms, 1.2k tokens in, 300 out, $0.0123',
    '12:00:00 child:researcher  tool search ok 12 ms',
    '12:00:01 lead  ← researcher  completed 1.5 s',
    '12:00:01 lead  crossing refused: result researcher → lead: no-grant',
    '12:00:01 lead  waiting 2.0 s',
    '12:00:01 lead  completed 4.2 s',
  ]);
});
