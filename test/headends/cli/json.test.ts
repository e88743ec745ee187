import { expect, test } from 'vitest';
import { CloisterError } from '#base';
import { childId, cli, eventsOf, leadId, outcomeOf, reportOf, runId, scene, settle, startCli } from './driver.ts';

const commands: readonly (readonly string[])[] = [
  ['run', 'lead', 'x'],
  ['demo'],
  ['runs'],
  ['show', 'last'],
  ['explain', 'last', 'researcher'],
  ['explain', 'last', 'researcher', '--find', 'x'],
  ['audit', 'last'],
  ['lead.ai', 'x'],
  ['check'],
  ['check', '--syntax-only', 'a.ai', 'b.ai'],
  ['init'],
  ['import', 'agents'],
  ['migrate'],
  ['rebuild'],
  ['rebuild', 'last'],
  ['agents', 'team'],
  ['lead.ai', '--help'],
  ['resume', 'last'],
  ['replay', 'last'],
  ['fork', 'last', '--at', 'lead/1'],
  ['diff', 'last', '4f2'],
  ['verify', 'lead'],
  ['run', 'lead', 'x', '--conversation', 'trip'],
  ['show', 'last', '--window'],
  ['show', 'last', '--transcript'],
  ['conversations', 'list'],
  ['conversations', 'show', 'trip'],
  ['conversations', 'export', 'trip'],
  ['conversations', 'attach', 'trip', 'scout'],
  ['conversations', 'detach', 'trip', 'scout'],
  ['conversations', 'delete', 'trip'],
  ['conversations', 'restore', 'trip'],
  ['conversations', 'purge', 'trip'],
  ['checkpoints', 'list'],
  ['checkpoints', 'create', 'last'],
  ['checkpoints', 'restore', 'last'],
  ['checkpoints', 'branch', 'last'],
  ['checkpoints', 'diff', 'last', 'c0'],
];
const mistakes: readonly (readonly string[])[] = [
  [],
  ['nonsense'],
  ['--help'],
  ['--version'],
  ['run', '--help'],
  ['run'],
  ['run', 'lead'],
  ['./lead'],
  ['check', '--nope'],
  ['init', 'a', 'b'],
  ['show', 'zz'],
  ['explain', 'last', 'zz'],
  ['runs', '--nope'],
  ['resume'],
  ['resume', 'zz'],
  ['replay', 'zz'],
  ['fork', 'last'],
  ['fork', 'last', '--at', 'lead/999'],
  ['fork', 'last', '--at', '//'],
  ['diff', 'last'],
  ['diff', 'last', 'zz'],
  ['verify'],
  ['verify', 'lead', '--pairs', '0'],
  ['run', 'lead', 'x', '--jsonl'],
  ['run', 'lead', 'x', '--budget-usd', 'x'],
];
const behaviours = {
  'all goes well': {},
  'the workspace cannot be opened': { openThrows: new CloisterError('store_busy') },
  'the runtime has a defect': { openThrows: new TypeError('boom') },
  'the run cannot be recorded': { outcomeRejects: new CloisterError('store_failed') },
  'the runtime cannot be closed': { closeThrows: new Error('late') },
};
const hostile = scene({
  goal: '\u001B]0;x\u0007\u009B2J\n\u2028\uD800',
  status: 'failed',
  failure: { code: 'model_rate' },
});

const usageMistake = (value: unknown): boolean =>
  (value as { readonly error?: { readonly code?: string } }).error?.code === 'usage';

// invariant: json-exactly-one-value
test.each(Object.entries(behaviours))(
  '--json prints exactly one value for every command when %s',
  async (_name, behaviour) => {
    for (const args of [...commands, ...mistakes]) {
      const { stdout, code } = await cli([...args, '--json'], hostile, {
        behaviour,
        terminal: { tty: true, colour: true },
      });
      const value: unknown = JSON.parse(stdout);
      expect(value).toBeTypeOf('object');
      expect(stdout).not.toMatch(/(?!\n)\p{Cc}/u);
      expect(code === 4).toBe(usageMistake(value));
    }
  },
);

test('an error value carries code, class, message and suggestion', async () => {
  const { code, stdout } = await cli(['show', 'zz', '--json']);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    error: {
      code: 'run_unknown',
      class: 'config',
      message: `There is no such run in this workspace. The newest are: ${runId}.`,
      suggestion: 'List runs with `cloister runs` or GET /v1/runs.',
    },
  });
});

test('run --json prints the outcome, the cells and the events', async () => {
  const { stdout, stderr } = await cli(['run', 'lead', 'x', '--json']);
  const { output, status, spent, missing } = outcomeOf(scene());
  const { cells, events } = reportOf(scene());
  expect(JSON.parse(stdout)).toEqual({
    run: runId,
    status,
    output,
    data: null,
    error: null,
    spent,
    missing,
    spawned: [],
    cells,
    events,
    causes: [],
  });
  expect(stderr).toBe('');
});

test('demo --json has both sides, the audit, the comparison and the workspace', async () => {
  const { stdout } = await cli(['demo', '--json']);
  expect(JSON.parse(stdout)).toMatchObject({
    plain: { sent: [{ to: expect.any(String) }] },
    cloister: { run: runId, audit: { ok: true, crossings: 8 } },
    verify: { ok: true, pairs: 1000 },
    workspace: '/work/space/.cloister',
  });
});

test('--jsonl prints every event as it comes, and the outcome last', async () => {
  const { stdout } = await cli(['run', 'lead', 'x', '--jsonl']);
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly type: string; readonly id?: string });
  expect(lines.filter(({ id }) => id !== undefined)).toEqual(eventsOf(scene()));
  expect(lines.at(-1)).toMatchObject({ type: 'outcome', run: runId, status: 'completed' });
  expect(lines.filter(({ type }) => type === 'outcome')).toHaveLength(1);
});

test('--jsonl prints an error as one line', async () => {
  for (const args of [
    ['run', 'lead', '--jsonl'],
    ['run', 'lead', 'x', '--jsonl'],
  ]) {
    const { stdout } = await cli(args, scene(), { behaviour: { openThrows: new Error('boom') } });
    expect(stdout.split('\n')).toHaveLength(2);
    expect(JSON.parse(stdout)).toHaveProperty('error.message');
  }
});

test('a run that is stopped immediately still prints one value', async () => {
  const run = startCli(['run', 'lead', 'x', '--json'], scene(), { behaviour: { holdAfter: 4, deaf: true } });
  await settle();
  run.interrupt();
  await run.pass(500);
  run.interrupt();
  expect(await run.code).toBe(130);
  expect(JSON.parse(run.stdout())).toMatchObject({ error: { code: 'cancelled' } });
});

test('JSON contains the texts of reports unchanged', async () => {
  const { stdout } = await cli(['explain', 'last', childId, '--json'], hostile);
  expect(JSON.parse(stdout)).toHaveProperty('segments.1.text', hostile.goal);
  const shown = await cli(['show', 'last', '--json'], hostile);
  expect(JSON.parse(shown.stdout)).toMatchObject({ goal: hostile.goal, cells: [{ cell: leadId }, { cell: childId }] });
});
