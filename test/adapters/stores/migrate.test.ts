// Migrating a workspace: in steps, on a copy that takes the place of the database at the end.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { migrateWorkspace, openSqliteStore } from '#adapters/stores';
import type { Migration } from '#testing/adapters/stores';
import { newFolder, openStore, writeRun } from './fixture.ts';

const rename = (from: string, to: string): string => `ALTER TABLE runs RENAME COLUMN ${from} TO ${to}`;
const steps: readonly Migration[] = [
  { from: 6, to: 7, change: (database) => database.exec(rename('aim', 'purpose')) },
  { from: 5, to: 6, change: (database) => database.exec(rename('goal', 'aim')) },
];
const options = { build: 'cloister 9.9.9', steps, newest: 7 };

const newWorkspace = async () => {
  const folder = newFolder();
  const store = await openStore(folder);
  const run = await writeRun(store, 5);
  await store.close();
  return { folder, run };
};

const metaIn = (folder: string): Readonly<Record<string, unknown>> => {
  using database = new DatabaseSync(join(folder, 'cloister.db'), { readOnly: true });
  const rows = database.prepare('SELECT key, value FROM meta').all();
  return Object.fromEntries(rows.map(({ key, value }) => [key, value]));
};

/** The frames, as an outside program sees them. */
const framesIn = (folder: string, name = 'cloister.db'): readonly unknown[] => {
  using database = new DatabaseSync(join(folder, name), { readOnly: true });
  return database.prepare('SELECT * FROM frames ORDER BY run, no').all();
};

test('a workspace of the newest format is left alone, byte for byte', async () => {
  const { folder } = await newWorkspace();
  const before = readFileSync(join(folder, 'cloister.db'));
  expect(await migrateWorkspace(folder, { build: 'test' })).toEqual({
    from: 5,
    to: 5,
    writtenBy: 'unknown',
    copy: null,
  });
  expect(readFileSync(join(folder, 'cloister.db'))).toEqual(before);
  expect(readdirSync(folder)).toEqual(['cloister.db']);
});

test('a format that is not written as a number of this build is refused, as everywhere else', async () => {
  for (const format of ['5.0', ' 5', 'five']) {
    const { folder } = await newWorkspace();
    const path = join(folder, 'cloister.db');
    const database = new DatabaseSync(path);
    database.prepare("UPDATE meta SET value = ? WHERE key = 'cloister'").run(format);
    database.close();
    await expect(migrateWorkspace(folder, { build: 'test' })).rejects.toMatchObject({ code: 'workspace_format' });
  }
});

// invariant: migration-in-one-step
test('steps run in the order of formats, and the former database is kept and readable', async () => {
  const { folder, run } = await newWorkspace();
  const before = framesIn(folder);
  expect(await migrateWorkspace(folder, options)).toEqual({
    from: 5,
    to: 7,
    writtenBy: 'unknown',
    copy: 'cloister.db.format-5',
  });
  expect(metaIn(folder)).toMatchObject({ cloister: '7', 'written-by': 'cloister 9.9.9' });
  expect(framesIn(folder)).toEqual(before);
  expect(framesIn(folder, 'cloister.db.format-5')).toEqual(before);
  await expect(openSqliteStore(folder)).rejects.toThrow('Use cloister 9.9.9 or newer.');
  const restored = newFolder();
  mkdirSync(restored, { recursive: true });
  copyFileSync(join(folder, 'cloister.db.format-5'), join(restored, 'cloister.db'));
  const store = await openStore(restored);
  expect(await store.read(run)).toHaveLength(6);
});

test('a second migration does nothing', async () => {
  const { folder } = await newWorkspace();
  await migrateWorkspace(folder, options);
  const files = readdirSync(folder);
  expect(await migrateWorkspace(folder, options)).toEqual({
    from: 7,
    to: 7,
    writtenBy: 'cloister 9.9.9',
    copy: null,
  });
  expect(readdirSync(folder)).toEqual(files);
});

// invariant: migration-in-one-step
test('a migration that fails in the middle leaves the workspace as it was, and can be repeated', async () => {
  const { folder, run } = await newWorkspace();
  const broken: readonly Migration[] = [
    ...steps.slice(1),
    {
      from: 6,
      to: 7,
      change: () => {
        throw new Error('out of memory');
      },
    },
  ];
  await expect(migrateWorkspace(folder, { ...options, steps: broken })).rejects.toThrow('out of memory');
  expect(metaIn(folder)).toMatchObject({ cloister: '5' });
  const store = await openStore(folder);
  expect(await store.read(run)).toHaveLength(6);
  await store.close();
  // What a process leaves that was killed in the middle.
  writeFileSync(join(folder, 'cloister.db.new'), 'half written');
  expect(await migrateWorkspace(folder, options)).toMatchObject({ from: 5, to: 7 });
  expect(readdirSync(folder).toSorted()).toEqual(['cloister.db', 'cloister.db.format-5']);
});

test('an earlier copy is not overwritten', async () => {
  const { folder } = await newWorkspace();
  writeFileSync(join(folder, 'cloister.db.format-5'), 'mine');
  expect(await migrateWorkspace(folder, options)).toMatchObject({ copy: 'cloister.db.format-5.2' });
  expect(readFileSync(join(folder, 'cloister.db.format-5'), 'utf8')).toBe('mine');
});

test('without a way to the newest format, the workspace is refused and nothing changes', async () => {
  const { folder } = await newWorkspace();
  const before = readFileSync(join(folder, 'cloister.db'));
  for (const given of [
    { ...options, steps: steps.slice(0, 1) },
    { build: 'test', steps, newest: 2 },
  ])
    await expect(migrateWorkspace(folder, given)).rejects.toMatchObject({ code: 'workspace_format' });
  expect(readFileSync(join(folder, 'cloister.db'))).toEqual(before);
  await expect(migrateWorkspace(newFolder(), options)).rejects.toMatchObject({
    code: 'options_invalid',
    message: expect.stringMatching(/no workspace/u),
  });
});

// invariant: migration-alone
test('a workspace that another process has open is refused, and works on', async () => {
  const { folder, run } = await newWorkspace();
  const script = `const { DatabaseSync } = require('node:sqlite');
    const open = new DatabaseSync(${JSON.stringify(join(folder, 'cloister.db'))}, { readOnly: true });
    open.prepare('SELECT count(*) FROM frames').get();
    console.log('open');
    process.stdin.on('end', () => open.close()).resume();`;
  const other = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(other.stdout, 'data');
  await expect(migrateWorkspace(folder, options)).rejects.toMatchObject({ code: 'store_busy' });
  expect(metaIn(folder)).toMatchObject({ cloister: '5' });
  other.stdin.end();
  await once(other, 'exit');
  const store = await openStore(folder);
  expect(await store.read(run)).toHaveLength(6);
  await store.close();
  expect(await migrateWorkspace(folder, options)).toMatchObject({ to: 7 });
});
