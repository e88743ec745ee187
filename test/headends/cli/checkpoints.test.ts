import { expect, test } from 'vitest';
import { cli, emulate, forkId, runId, scene } from './driver.ts';
import { checkpoint, checkpointDiff } from './fake-conversations.ts';
import type { ConversationFixture } from './fake-conversations.ts';

const id = checkpoint(scene()).id;
const two = [checkpoint(scene(), { id: 'c1ffee123456', agent: 'scout' }), checkpoint(scene())];

const checkpoints = async (args: readonly string[], talk: ConversationFixture = {}) => {
  const asked: unknown[][] = [];
  const told = await cli(['checkpoints', ...args], scene(), { behaviour: { talk: { ...talk, asked } } });
  return { ...told, asked };
};

test('the list shows the id of each checkpoint, in 80 columns, and can be limited to one agent', async () => {
  const wide = checkpoint(scene(), {
    agent: 'an-agent-with-a-rather-long-name',
    conversation: { agent: 'an-agent-with-a-rather-long-name', name: 'a-conversation-with-a-long-name' },
    label: 'before everything was changed from the ground up, and then once more',
  });
  const { code, stdout } = await checkpoints(['list'], { checkpoints: [...two, wide] });
  expect(code).toBe(0);
  expect(emulate(stdout, 80).wrapped).toBe(false);
  expect(
    stdout
      .split('\n')
      .slice(1, 4)
      .map((line) => line.slice(0, 12)),
  ).toEqual(['c1ffee123456', id, id]);
  const few = await checkpoints(['list', '--agent', 'scout'], { checkpoints: two });
  expect(few.stdout.trimEnd().split('\n')).toHaveLength(2);
  expect(few.stdout).toMatch(/^c1ffee123456 +scout +2026-03-01 12:00:05 +manual .*Compare/mu);
  expect(JSON.parse((await checkpoints(['list', '--json'], { checkpoints: two })).stdout)).toEqual(two);
  const none = await checkpoints(['list', '--agent', 'x'], { checkpoints: two });
  expect(none.stdout).toMatch(/^No checkpoints of x yet\.\nCreate one with/u);
});

test('create takes a run or last, and a label, and says how to return to it', async () => {
  const { code, stdout, asked } = await checkpoints(['create', 'last', '--label', 'before']);
  expect(code).toBe(0);
  expect(asked).toEqual([['create', runId, { label: 'before' }]]);
  expect(stdout).toBe(
    [
      `checkpoint ${id}: run ${runId}, 17 records. To return to it, or to branch from it:`,
      `  npx cloister checkpoints restore ${id}`,
      `  npx cloister checkpoints branch ${id}`,
      '',
    ].join('\n'),
  );
  expect((await checkpoints(['create', '4f2'])).asked).toEqual([['create', runId, {}]]);
  expect(JSON.parse((await checkpoints(['create', 'last', '--json'])).stdout)).toMatchObject({ id, run: runId });
  expect(await checkpoints(['create', 'zz'])).toMatchObject({ code: 1, asked: [] });
});

test('restore continues what was in flight, with the agents of its run, and shows it as fork does', async () => {
  const { code, stdout, stderr, asked, opened } = await checkpoints(['restore', 'c0ff']);
  expect(code).toBe(0);
  expect(asked).toEqual([['restore', id]]);
  expect(opened[1]).toEqual({ workspace: './.cloister', agents: [], ofRun: runId });
  expect(stdout).toBe('SQLite for rows,\nDuckDB for columns.\n');
  expect(stderr).toContain('lead  → researcher  started');
  expect(stderr).toContain(`Next steps:\n  npx cloister diff ${runId} ${forkId}\n`);
  const json = JSON.parse((await checkpoints(['restore', 'last', '--json'])).stdout) as object;
  expect(json).toMatchObject({ run: forkId, checkpoint: id, conversation: { agent: 'lead', name: 'trip' } });
  const lines = (await checkpoints(['restore', 'last', '--jsonl'])).stdout.trimEnd().split('\n');
  expect(JSON.parse(lines.at(-1)!)).toMatchObject({ type: 'outcome', checkpoint: id });
});

test('restore of a run that had ended only resets its conversation, and says how to continue', async () => {
  const { code, stdout, stderr } = await checkpoints(['restore', id], { nothingInFlight: true });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toBe(`lead/trip continues from checkpoint ${id}:\n  npx cloister chat lead --conversation trip\n`);
  expect(JSON.parse((await checkpoints(['restore', id, '--json'], { nothingInFlight: true })).stdout)).toEqual({
    checkpoint: id,
    conversation: { agent: 'lead', name: 'trip' },
    run: null,
  });
  const alone = [checkpoint(scene(), { conversation: null })];
  expect((await checkpoints(['restore', id], { nothingInFlight: true, checkpoints: alone })).stdout).toBe(
    `Nothing to continue: the run had already ended at checkpoint ${id}.\n`,
  );
});

test('branch can name its conversation and another agent', async () => {
  const { asked, stdout } = await checkpoints(['branch', 'last', '--name', 'other', '--to', 'scout'], {
    nothingInFlight: true,
  });
  expect(asked).toEqual([['branch', id, { name: 'other', agent: 'scout' }]]);
  expect(stdout).toBe(`scout/other starts from checkpoint ${id}:\n  npx cloister chat scout --conversation other\n`);
  expect((await checkpoints(['branch', 'last'])).asked).toEqual([['branch', id, {}]]);
  const json = JSON.parse((await checkpoints(['branch', 'last', '--json'])).stdout) as object;
  expect(json).toMatchObject({ run: forkId, checkpoint: id, conversation: { agent: 'lead', name: 'trip-2' } });
});

test('another agent can be named by its file, which is opened', async () => {
  const { asked, opened } = await checkpoints(['branch', 'last', '--to', 'team/scout.ai'], { nothingInFlight: true });
  expect(asked).toEqual([['branch', id, { agent: 'scout' }]]);
  expect(opened[1]).toEqual({ workspace: './.cloister', agents: ['team/scout.ai'] });
});

test('a checkpoint can be named by its file; the runtime reports what is wrong with it', async () => {
  const texts: Readonly<Record<string, string>> = {
    'x/good.json': JSON.stringify({ id }),
    'x/foreign.json': JSON.stringify({ id: 'f0' }),
    'x/damaged.json': '{',
  };
  const asked: unknown[][] = [];
  const restore = (file: string) =>
    cli(['checkpoints', 'restore', file], scene(), {
      behaviour: {
        talk: { asked },
        files: { readText: async (path) => texts[path] ?? Promise.reject(new Error('none')) },
      },
    });
  expect((await restore('x/good.json')).opened[1]).toMatchObject({ ofRun: runId });
  for (const file of ['x/foreign.json', 'x/damaged.json', 'x/none.json'])
    expect((await restore(file)).opened[1]).not.toHaveProperty('ofRun');
  expect(asked.map(([, file]) => file)).toEqual(['x/good.json', 'x/foreign.json', 'x/damaged.json', 'x/none.json']);
});

test('restore and branch accept agents and a config', async () => {
  const { opened } = await checkpoints(['branch', 'last', '--agents', 'a.ai', '--config', 'c.json']);
  expect(opened[1]).toEqual({ workspace: './.cloister', agents: ['a.ai'], config: 'c.json' });
});

test('diff prints the cells, files, tokens and crossings that differ, and exits 1', async () => {
  const { code, stdout, asked } = await checkpoints(['diff', 'c0', 'c1'], { checkpoints: two });
  expect(code).toBe(1);
  expect(asked).toEqual([['diff', id, 'c1ffee123456']]);
  expect(stdout.split('\n')).toEqual([
    `− ${id}  2026-03-01 12:00:05, lead, run ${runId}, 17 records`,
    `+ c1ffee123456  2026-03-01 12:00:05, lead, run ${runId}, 21 records`,
    'tokens 1,200 → 2,400',
    '+ cell researcher',
    '≠ cell lead-ab12cd34ef56',
    '    window bytes 900 → 1,200',
    '    steps 1 → 2',
    '    status running → search',
    '+ file notes.md',
    '≠ file Compare SQLite and DuckDB',
    '',
  ]);
  const json = await checkpoints(['diff', 'c0', 'c1', '--json'], { checkpoints: two });
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toEqual(checkpointDiff(scene()));
});

test('diff of identical checkpoints says so and exits 0', async () => {
  const nothing = { added: [], removed: [], changed: [] };
  const diff = {
    ...checkpointDiff(scene()),
    cells: nothing,
    files: nothing,
    tokens: [1, 1],
    crossings: [2, 2],
  } as const;
  const { code, stdout } = await checkpoints(['diff', 'c0', 'c1'], { checkpoints: two, diff });
  expect(code).toBe(0);
  expect(stdout).toMatch(/\nidentical\n$/u);
});

test.each(['restore', 'branch'])('%s of an unknown or ambiguous checkpoint starts nothing', async (action) => {
  const unknown = await checkpoints([action, 'zz'], { checkpoints: two });
  expect(unknown).toMatchObject({ code: 1, asked: [] });
  expect(unknown.stderr).toMatch(/^error: There is no such checkpoint\. The newest are: c1ffee123456, c0ffee123456\./u);
  expect(unknown.opened).toHaveLength(1);
  const ambiguous = await checkpoints([action, 'c'], { checkpoints: two });
  expect(ambiguous).toMatchObject({ code: 4, asked: [] });
  expect(ambiguous.stderr).toContain('more than one checkpoint starts with "c": c1ffee123456, c0ffee123456');
  const narrowed = await checkpoints([action, 'c', '--agent', 'scout'], { checkpoints: two });
  expect(narrowed.asked[0]?.[1]).toBe('c1ffee123456');
  const none = await checkpoints([action, 'last', '--agent', 'x'], { checkpoints: two });
  expect(none.stderr).toContain('This workspace has no checkpoints of x.');
});

const mistakes: readonly (readonly [args: readonly string[], error: RegExp, advice: RegExp])[] = [
  [['creat', 'last'], /unknown command 'creat'/u, /try: cloister checkpoints create\n/u],
  [['create', 'last', '--agent', 'lead'], /unknown option '--agent'/u, /try: /u],
  [['create'], /missing required argument 'run'/u, /try: cloister checkpoints create --help/u],
  [['restore'], /missing required argument 'id'/u, /try: cloister checkpoints restore --help/u],
  [['diff', 'c0'], /missing required argument 'other'/u, /try: cloister checkpoints diff --help/u],
  [['branch', 'c0', '--nmae', 'x'], /unknown option '--nmae'/u, /try: --name/u],
];

test.each(mistakes)('a usage error is reported with a suggestion, exit 4: %j', async (args, error, advice) => {
  const { code, stderr, opened } = await checkpoints(args);
  expect({ code, opened }).toEqual({ code: 4, opened: [] });
  expect(stderr).toMatch(error);
  expect(stderr).toMatch(advice);
});
