import { expect, test } from 'vitest';
import { transcriptLines } from '../../../src/headends/cli/show-transcript.ts';
import { cli, leadId, runId, scene } from './driver.ts';

/** A path is not broken, so that it can be copied. */
const widest = (text: string): number =>
  Math.max(...text.split('\n').map((line) => (line.includes('.cloister/runs') ? 0 : [...line].length)));

test('show --transcript prints origins in the margin, and wraps at words in 80 columns', async () => {
  const { code, stdout } = await cli(['show', 'last', '--transcript']);
  expect(code).toBe(0);
  expect(stdout).toContain('  prompt of lead,     │ You lead.\n   with the runtime’s │   Ask others before you answer');
  expect(stdout).toContain('  from your request   │ Your task: ');
  expect(stdout).toContain('\n  says                │ I ask.\n  calls look_up       │ {"name":"x"}\n');
  expect(widest(stdout)).toBeLessThan(80);
  const { stdout: wide } = await cli(['show', 'last', '--transcript'], scene(), {
    terminal: { tty: true, colour: false, columns: 200 },
  });
  expect(wide).toMatch(/│ {3}Ask others before you answer, and never answer from memory alone, whatever the question/u);
  expect(widest(wide)).toBeLessThan(200);
});

test('a failed request and its retry are told as such, with the cause', async () => {
  const { stdout } = await cli(['show', 'last', '--transcript']);
  expect(stdout).toContain('  failed              │ Busy. retry in 3 s (model_timeout)\n');
  expect(stdout).toMatch(/\n {2}turn 1 · retry 1 · /u);
});

test('the cause of a cell’s end is told once, and a file by the beginning of its hash', () => {
  const error = {
    code: 'model_timeout',
    class: 'model',
    summary: 'Busy.',
    detail: 'Later.',
    suggestion: 'Wait.',
  } as const;
  const hash = 'ab'.repeat(32);
  const shown = [
    { id: 0, category: 'DIALOG', origin: 'file', rule: 'attachment@1', text: `Attached:\n(file ${hash})`, whole: true },
  ] as const;
  const entry = {
    at: 0,
    turn: 1,
    attempt: 1,
    op: 1,
    model: 'm',
    shown,
    removed: 0,
    said: [],
    ms: 5,
    error,
    results: [],
  };
  const cell = {
    cell: leadId,
    parent: null,
    agent: 'lead',
    goal: 'x',
    startedAt: 0,
    endedAt: 9,
    ms: 9,
    output: '',
  } as const;
  const lines = (full: boolean): string =>
    transcriptLines(
      { run: runId, cells: [{ ...cell, status: 'failed', error, entries: [entry] }] },
      { full, workspace: 'w', questions: [], screen: { paint: (_, text) => text, columns: 79 } },
    ).join('\n');
  expect(lines(false).match(/Busy\./gu)).toHaveLength(1);
  expect(lines(false)).toContain('(file abababababab…)');
  expect(widest(lines(false))).toBeLessThan(80);
  expect(lines(true)).toContain(hash);
});

test('a long output is cut, with the way to see the rest', async () => {
  const { stdout } = await cli(['show', 'last', '--transcript']);
  expect(stdout.replace(/\s+(?:│ )?/gu, ' ')).toContain(`First lines. [… 9,000 bytes in all: see --full]`);
});

test('what stands above is not told again, except with --full', async () => {
  const told = async (...flags: readonly string[]) =>
    (await cli(['show', 'last', 'lead', '--transcript', ...flags])).stdout.match(/its own reply|You lead\./gu);
  expect(await told()).toEqual(['You lead.']);
  expect(await told('--full')).toEqual(['You lead.', 'You lead.', 'You lead.', 'its own reply']);
});

test('--json gives the transcript as data', async () => {
  const { stdout } = await cli(['show', 'last', '--transcript', '--json']);
  expect(JSON.parse(stdout)).toMatchObject({ run: runId, cells: [{ cell: leadId, entries: [{}, {}, {}] }] });
});

test.each([
  [['show', 'last', 'lead'], 'a cell needs --transcript'],
  [['show', 'last', '--full'], '--full needs --transcript'],
])('%s is refused', async (args, problem) => {
  const { code, stderr } = await cli(args);
  expect([code, stderr]).toEqual([4, expect.stringContaining(problem)]);
});

test('explain shows texts whole with --verbose and on a wide terminal, and every match', async () => {
  const goal = `${'word '.repeat(100)}end.`;
  const found = Array.from({ length: 5 }, (_, index) => index * 5);
  const explain = async (columns: number, ...flags: readonly string[]) =>
    (
      await cli(['explain', 'last', 'researcher', ...flags], scene({ goal, found }), {
        terminal: { tty: true, colour: false, columns },
      })
    ).stdout;
  expect(await explain(80)).not.toContain('end.');
  for (const stdout of [await explain(80, '--verbose'), await explain(200)]) expect(stdout).toContain('word end.');
  expect(widest(await explain(80, '--verbose'))).toBeLessThan(200);
  expect(await explain(80, '--find', 'word')).toContain('… and 2 more matches: use --verbose for all');
  expect((await explain(80, '--find', 'word', '--verbose')).match(/«word»/gu)).toHaveLength(5);
});
