import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CellWindow, DurableEvent, WindowPart } from '#contracts';
import { childId, cli, emulate, escape, eventsOf, leadId, reportOf, runId, scene, settle, startCli } from './driver.ts';
import { enveloped } from './scene.ts';
import { windowsOf } from './fake-conversations.ts';

const shown = async (windows: readonly CellWindow[] | undefined, ...args: readonly string[]) =>
  cli(['show', 'last', '--window', ...args], scene(), { behaviour: windows === undefined ? {} : { windows } });

test('show --window draws a bar by category for each agent, and lists what was dropped and when', async () => {
  const { code, stdout } = await shown(undefined);
  expect(code).toBe(0);
  expect(stdout.split('\n')).toEqual([
    leadId,
    '  rehearsal: about 48,000 of 96,000 tokens, by default',
    `  [${'S'.repeat(9)}C${'D'.repeat(9)}${'T'.repeat(18)}${'.'.repeat(38)}]`,
    '  SYSTEM 12.0k/3, CONTEXT 10/1, DIALOG 12.0k/4, TOOLS 24.0k/4 (tokens/segments)',
    '',
    childId,
    '  rehearsal: about 7,900 of 8,000 tokens, limited by the model',
    `  [${'S'.repeat(3)}${'C'.repeat(65)}${'D'.repeat(4)}${'.'.repeat(3)}]`,
    '  SYSTEM 400/1, CONTEXT 7.0k/1, DIALOG 500/1, TOOLS 0 (tokens/segments)',
    '  12:00:00 turn 1, operation 1: clamped from 96,000 to 8,000 tokens, limited by',
    '    the model',
    '  12:00:01 turn 1, operation 2: output of search offloaded to Compare SQLite',
    '    and DuckDB, 123k bytes',
    '  12:00:02 turn 2, operation 3: 4 messages compacted, 40.0k → 1.2k bytes',
    '  12:00:02 turn 2, operation 3: 1 message dropped, 400 → 0 bytes',
    '',
  ]);
  expect(emulate(stdout, 80).wrapped).toBe(false);
  expect(JSON.parse((await shown(undefined, '--json')).stdout)).toEqual(windowsOf(scene()));
});

test('colours are added on a terminal, and nothing else changes', async () => {
  const plain = await shown(undefined);
  const painted = await cli(['show', 'last', '--window'], scene(), { terminal: { tty: true, colour: true } });
  expect(painted.stdout).toMatch(new RegExp(String.raw`${escape}\[36mS+${escape}\[39m`, 'u'));
  expect(painted.stdout.replaceAll(new RegExp(String.raw`${escape}\[\d+m`, 'gu'), '')).toBe(plain.stdout);
});

const [root] = windowsOf(scene());

test('a cell that has not called a model, and one of an old log without a limit, are shown as such', async () => {
  const none: WindowPart = { messages: 0, bytes: 0, tokens: 0 };
  const empty: CellWindow = {
    ...root!,
    model: null,
    limit: null,
    total: none,
    categories: { SYSTEM: none, CONTEXT: none, DIALOG: none, TOOLS: none },
  };
  expect((await shown([empty])).stdout).toBe(`${leadId}\n  has not called a model yet\n`);
  expect((await shown([{ ...root!, limit: null }])).stdout).toContain('  rehearsal: about 48,000 tokens\n');
});

test('only the newest of many changes are listed, all of them with --verbose', async () => {
  const [, child] = windowsOf(scene());
  const [change] = child!.happened;
  const many = { ...child!, happened: Array.from({ length: 30 }, (_, index) => ({ ...change!, turn: index + 1 })) };
  const few = (await shown([many])).stdout;
  expect(few).toContain('  … 18 earlier changes: use --verbose for all\n');
  expect(few.match(/turn \d+/gu)).toHaveLength(12);
  expect(few).toContain('turn 30,');
  expect((await shown([many], '--verbose')).stdout.match(/turn \d+/gu)).toHaveLength(30);
});

const part = fc.record({ messages: fc.nat(3), bytes: fc.nat(), tokens: fc.nat(200_000) });
const parts = fc.record({ SYSTEM: part, CONTEXT: part, DIALOG: part, TOOLS: part });

test('a bar always fills its line, and shows every category that is not empty', () =>
  fc.assert(
    fc.asyncProperty(
      parts,
      fc.integer({ min: 1, max: 200_000 }),
      fc.integer({ min: 20, max: 200 }),
      async (by, limit, columns) => {
        const categories = Object.fromEntries(
          Object.entries(by).map(([name, one]) => [name, one.messages === 0 ? { ...one, tokens: 0 } : one]),
        ) as CellWindow['categories'];
        const all = Object.values(categories);
        const total = {
          messages: all.reduce((sum, one) => sum + one.messages, 0),
          bytes: 0,
          tokens: all.reduce((sum, one) => sum + one.tokens, 0),
        };
        const windows = [{ ...root!, categories, total, limit: { tokens: limit, by: 'given' as const } }];
        const { stdout } = await cli(['show', 'last', '--window'], scene(), {
          terminal: { tty: true, columns },
          behaviour: { windows },
        });
        const bar = /^ {2}\[(S*)(C*)(D*)(T*)\.*\]$/mu.exec(stdout);
        expect(bar?.[0]).toHaveLength(columns - 1);
        Object.values(categories).forEach((one, index) => {
          expect(bar![index + 1]!.length > 0).toBe(one.messages > 0);
        });
      },
    ),
    { numRuns: 200 },
  ));

const windowEvents = (): readonly DurableEvent[] => {
  const events = eventsOf(scene());
  const at = events.findIndex(({ type, cell }) => type === 'model-start' && cell === childId);
  const { run, cell, agent, at: time } = events[at]!;
  const base = { run, cell, agent, at: time, ...enveloped({ agent, type: 'window-trim' }) };
  return [
    ...events.slice(0, at),
    { ...base, id: 'a', type: 'window-clamp', window: { tokens: 8000, by: 'group' }, was: 96_000 },
    {
      ...base,
      id: 'b',
      type: 'window-trim',
      op: 1,
      how: 'compacted',
      messages: 4,
      bytesBefore: 40_000,
      bytesAfter: 900,
    },
    ...events.slice(at),
  ];
};

test('the lines of a run say what was clamped and trimmed, and which command shows more', async () => {
  const events = windowEvents();
  const { stderr } = await cli(['run', 'lead', 'x'], scene(), {
    behaviour: { events, report: { ...reportOf(scene()), events } },
  });
  expect(stderr).toContain(
    `child:researcher  window clamped from 96,000 to 8,000 tokens, limited by its budget group\n`,
  );
  expect(stderr).toContain(`child:researcher  window: 4 messages compacted, 40.0k → 900 bytes\n`);
  expect(stderr).toContain(`  npx cloister show ${runId} --window\n`);
  expect((await cli(['run', 'lead', 'x'])).stderr).not.toContain('--window');
});

test('an operation whose request trimmed the window appears once in the list of operations', async () => {
  const report = { ...reportOf(scene()), events: windowEvents() };
  const { stdout } = await cli(['show', 'last', '--verbose'], scene(), { behaviour: { report } });
  expect(stdout.match(new RegExp(`^${childId}/1 +turn 1: model`, 'gmu'))).toHaveLength(1);
});

test('the live tree shows what was done to the window of a request in flight', async () => {
  const events = windowEvents();
  const holdAfter = events.findIndex(({ type }) => type === 'window-trim') + 2;
  const run = startCli(['run', 'lead', 'x'], scene(), {
    terminal: { tty: true, columns: 120 },
    behaviour: { events, holdAfter },
  });
  await settle();
  await run.pass(200);
  expect(emulate(run.screen(), 120).lines.join('\n')).toMatch(/researcher +model rehearsal, window compacted/u);
  run.interrupt();
  await run.code;
});
