import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { projectSteps } from '../../../src/adapters/stores/step-files.ts';
import type { LogStore } from '#testing/adapters/stores';
import type { CellId, Json, RunId } from '#base';
import type { Frame } from '#contracts';
import { birthOf, framesOf, goalContent, newRun, outcomeOf } from '../../conformance/store.ts';
import { newFolder, openStore, writeRun } from './fixture.ts';

const output = 'a long page\n'.repeat(500);

/** Step 1 is a search that was offloaded, step 2 fails, step 3 is a child that fails in its own words. */
const stepFrames = (run: RunId, ref: string): Frame[] => {
  const make = framesOf(run);
  const goal = 'Research ML frameworks and summarise the top three of them';
  return [
    make.open(),
    make.next(toolBegin(0, { step: 1, tool: 'search', args: { query: 'sqlite' } })),
    make.next(toolBegin(1, { step: 2, tool: 'fetch', args: {} })),
    make.next({ type: 'begin', op: 2, do: 'step', name: 'model', about: { model: 'm' } }),
    make.next(
      { type: 'begin', op: 3, do: 'child', name: 'ask', about: { step: 3 }, birth: birthOf('web-1', 'web', 'lead-1') },
      { contents: [goalContent('lead-1', 'not this'), goalContent('web-1', goal)] },
    ),
    make.next(toolBegin(0, { step: 1, tool: 'look', args: {} }), { cell: 'web-1' as CellId }),
    make.next({ type: 'settle', op: 2, ok: true, value: { text: 'a reply' } }),
    make.next({ type: 'settle', op: 1, ok: false, failure: { code: 'tool_failed', detail: '404' } }),
    make.next({ type: 'settle', op: 0, ok: true, value: { text: 'seen' } }, { cell: 'web-1' as CellId }),
    make.next({
      type: 'settle',
      op: 0,
      ok: true,
      value: { text: output.slice(0, 3000), output: { name: 'search_001.txt', ref, bytes: output.length } },
    }),
    make.next({
      type: 'settle',
      op: 3,
      ok: true,
      value: { crossing: 1 },
      ended: {
        cell: 'web-1' as CellId,
        outcome: outcomeOf('failed', { code: 'model_auth', detail: "the provider's own words" }),
      },
    }),
  ];
};

const toolBegin = (op: number, about: { [key: string]: Json }) =>
  ({ type: 'begin', op, do: 'step', name: 'tool', about }) as const;

/** Closes the store. */
const writeSteps = async (store: LogStore): Promise<RunId> => {
  const run = newRun();
  const ref = await store.putBlob(Buffer.from(output));
  const log = await store.acquireRun(run);
  for (const frame of stepFrames(run, ref)) log.append(frame);
  await log.close();
  await store.rebuild(run);
  await store.close();
  return run;
};

const treeOf = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')]),
  );

test('each tool call has a step file, and each offloaded output has a file', async () => {
  const folder = newFolder();
  const run = await writeSteps(await openStore(folder));
  const tree = treeOf(join(folder, 'runs', run));
  expect(Object.keys(tree)).toEqual([
    'lead-1/history/step_001.json',
    'lead-1/history/step_002.json',
    'lead-1/history/step_003.json',
    'lead-1/outputs/search_001.txt',
    'web-1/history/step_001.json',
  ]);
  expect(tree['lead-1/outputs/search_001.txt']).toBe(output);
  expect(tree['lead-1/history/step_001.json']).toBe(
    `${JSON.stringify(
      {
        id: 'step_001',
        tool_name: 'search',
        minimal_args: { query: 'sqlite' },
        observation: output.slice(0, 2000),
        outcome_ref: 'outputs/search_001.txt',
        success: true,
        error: null,
        timestamp_ms: 1009,
      },
      null,
      2,
    )}\n`,
  );
  expect(JSON.parse(tree['lead-1/history/step_002.json']!)).toMatchObject({
    observation: '',
    outcome_ref: null,
    success: false,
    error: 'tool_failed: 404',
  });
  expect(statSync(join(folder, 'runs')).mode & 0o777).toBe(0o700);
});

// invariant: step-file-catalogue-text
test("a child's step says what was spawned, and nothing in the child's own words", async () => {
  const folder = newFolder();
  const run = await writeSteps(await openStore(folder));
  const text = readFileSync(join(folder, 'runs', run, 'lead-1/history/step_003.json'), 'utf8');
  expect(JSON.parse(text)).toEqual({
    id: 'step_003',
    tool_name: 'agent:spawn',
    minimal_args: { child_id: 'web-1' },
    observation: 'Spawned web with goal: Research ML frameworks and summarise the top three',
    outcome_ref: 'web-1',
    success: false,
    error: 'model_auth: The model provider rejected the credentials.',
    timestamp_ms: 1004,
  });
});

test('a child that has not ended already has its step file', () => {
  const frames = stepFrames(newRun(), 'ref').slice(0, 5);
  const [file, ...others] = projectSteps(frames);
  expect(others).toEqual([]);
  expect(file).toMatchObject({ cell: 'lead-1', folder: 'history', name: 'step_003.json' });
  expect(file!.content).toContain('"success": true');
});

test('arguments that are no object are under the key `input`', () => {
  const make = framesOf(newRun());
  const files = [
    ['not JSON', { input: 'not JSON' }],
    ['[1]', { input: '[1]' }],
    ['', {}],
  ].map(([args, expected]) => {
    const frames = [make.open(), make.next(toolBegin(0, { step: 1, tool: 'look', args: args as Json }))];
    const settled = make.next({ type: 'settle', op: 0, ok: true, value: { text: '' } });
    const [file] = projectSteps([...frames, settled]);
    return [(JSON.parse(file!.content as string) as { minimal_args: Json }).minimal_args, expected];
  });
  for (const [shown, expected] of files) expect(shown).toEqual(expected);
});

test('a run leaves no file until its files are asked for', async () => {
  const folder = newFolder();
  const store = await openStore(folder);
  const run = newRun();
  const log = await store.acquireRun(run);
  for (const frame of stepFrames(run, await store.putBlob(Buffer.from(output)))) log.append(frame);
  await log.close();
  expect(await store.rebuild()).toEqual({ runs: 1, listed: [], files: 0, skipped: [] });
  await store.close();
  expect(existsSync(join(folder, 'runs'))).toBe(false);
});

// invariant: rebuild-says-what-changed
test('files that are there already are left alone, and others are written again, byte for byte', async () => {
  const folder = newFolder();
  const run = await writeSteps(await openStore(folder));
  const before = treeOf(join(folder, 'runs'));
  const store = await openStore(folder);
  expect(await store.rebuild(run)).toEqual({ runs: 1, listed: [], files: 0, skipped: [] });
  const cell = join(folder, 'runs', run, 'lead-1');
  writeFileSync(join(cell, 'history', 'step_001.json'), 'x'.repeat(9_000));
  const step = readFileSync(join(cell, 'history', 'step_002.json'));
  writeFileSync(join(cell, 'history', 'step_002.json'), step.fill('y', 3, 4));
  rmSync(join(cell, 'outputs'), { recursive: true });
  expect(await store.rebuild(undefined, { files: true })).toMatchObject({ files: 3 });
  expect(treeOf(join(folder, 'runs'))).toEqual(before);
  rmSync(join(folder, 'runs'), { recursive: true });
  expect(await store.rebuild(run)).toMatchObject({ files: 5 });
  expect(treeOf(join(folder, 'runs'))).toEqual(before);
});

test('a lost list of runs is rebuilt from the log, row by row', async () => {
  const folder = newFolder();
  const first = await openStore(folder);
  const run = await writeSteps(first);
  const second = await openStore(folder);
  const before = await second.list();
  await second.close();
  const database = new DatabaseSync(join(folder, 'cloister.db'));
  database.exec('DELETE FROM runs');
  database.close();
  const third = await openStore(folder);
  expect((await third.list()).map(({ state }) => state)).toEqual(before.map(() => 'damaged'));
  expect(await third.rebuild()).toEqual({ runs: 1, listed: [run], files: 0, skipped: [] });
  expect(await third.list()).toEqual(before);
  expect(await third.rebuild()).toMatchObject({ listed: [] });
  expect(before.map((one) => one.run)).toEqual([run]);
});

// invariant: rebuild-log-decides
test('of a run that cannot be read nothing is changed, and all others are rebuilt', async () => {
  const folder = newFolder();
  const store = await openStore(folder);
  const runs: RunId[] = [];
  for (let nth = 0; nth < 3; nth++) runs.push(await writeRun(store));
  using database = new DatabaseSync(join(folder, 'cloister.db'));
  database.exec('UPDATE runs SET status = NULL, spent = 5, cells = 99');
  database.prepare("UPDATE frames SET body = '{}' WHERE run = ? AND no = 1").run(runs[1]!);
  const rows = database.prepare('SELECT * FROM runs WHERE run = ?').get(runs[1]!);
  const report = await store.rebuild(undefined, { files: true });
  expect(report.runs).toBe(2);
  expect(new Set(report.listed)).toEqual(new Set([runs[0], runs[2]]));
  expect(report.skipped).toEqual([{ run: runs[1], problem: expect.stringContaining(`frame 1 of run ${runs[1]}`) }]);
  expect(database.prepare('SELECT * FROM runs WHERE run = ?').get(runs[1]!)).toEqual(rows);
  await expect(store.rebuild(runs[1])).rejects.toMatchObject({ code: 'store_damaged' });
});

test('a step that began in another process is settled by the process that continues the run', async () => {
  const folder = newFolder();
  const store = await openStore(folder);
  const run = newRun();
  const frames = stepFrames(run, await store.putBlob(Buffer.from(output)));
  const log = await store.acquireRun(run);
  for (const frame of frames.slice(0, 6)) log.append(frame);
  await log.durable();
  await store.rebuild(run);
  await store.close();
  const next = await openStore(folder);
  const again = await next.acquireRun(run);
  for (const frame of frames.slice(6)) again.append(frame);
  await again.close();
  expect(Object.keys(treeOf(join(folder, 'runs', run)))).toHaveLength(1);
  expect(await next.rebuild(run)).toMatchObject({ files: 5 });
  const tree = treeOf(join(folder, 'runs', run));
  expect(Object.keys(tree)).toHaveLength(5);
  expect(tree['lead-1/history/step_003.json']).toContain('model_auth');
});

// invariant: step-file-path-checked
test('no symlink is followed, and no other thing than a file is written', async () => {
  const folder = newFolder();
  const elsewhere = newFolder();
  mkdirSync(elsewhere);
  mkdirSync(join(folder, 'runs'), { recursive: true });
  const store = await openStore(folder);
  const run = newRun();
  const ref = await store.putBlob(Buffer.from(output));
  const cell = join(folder, 'runs', run, 'lead-1');
  mkdirSync(join(cell, 'history'), { recursive: true });
  symlinkSync(elsewhere, join(cell, 'outputs'));
  symlinkSync(join(elsewhere, 'stolen'), join(cell, 'history', 'step_001.json'));
  const log = await store.acquireRun(run);
  for (const frame of stepFrames(run, ref)) log.append(frame);
  await log.close();
  for (const linked of [join(cell, 'history', 'step_001.json'), join(cell, 'outputs')]) {
    await expect(store.rebuild(run)).rejects.toMatchObject({ code: 'store_failed' });
    expect(readdirSync(elsewhere)).toEqual([]);
    rmSync(linked);
  }
  mkdirSync(join(cell, 'history', 'step_001.json'));
  await expect(store.rebuild(run)).rejects.toMatchObject({ code: 'store_failed' });
  expect(await store.read(run)).toHaveLength(11);
});

// invariant: step-file-path-checked
test('a name that is not a path segment creates no file', async () => {
  const run = newRun();
  const make = framesOf(run);
  const frames = ['../../escape', 'a/b', '..', ''].flatMap((name, op) => [
    make.next(toolBegin(op, { step: op + 1, tool: 't' })),
    make.next({ type: 'settle', op, ok: true, value: { text: '', output: { name, ref: 'r', bytes: 0 } } }),
  ]);
  expect(projectSteps(frames).every(({ folder }) => folder === 'history')).toBe(true);
  const folder = newFolder();
  const store = await openStore(folder);
  const log = await store.acquireRun(run);
  const other = framesOf(run);
  log.append(other.open());
  for (const { record } of frames) log.append(other.next(record, { cell: '..' as CellId }));
  await log.close();
  await expect(store.rebuild(run)).rejects.toMatchObject({ code: 'store_failed' });
  expect(existsSync(join(folder, 'runs'))).toBe(false);
});

test.for([0, -1, 1.5, '1', null])('step number %s creates no file', (step) => {
  const make = framesOf(newRun());
  const frames = [make.next(toolBegin(0, { step })), make.next({ type: 'settle', op: 0, ok: true })];
  expect(projectSteps(frames)).toEqual([]);
});
