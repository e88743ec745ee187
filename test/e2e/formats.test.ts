// A workspace or a run in a format that this build does not know: a clear refusal by every command, and nothing is written.
import { cpSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openCloister } from 'cloister';
import { beforeAll, describe, expect, test } from 'vitest';
import { noTail, recordHash, unpackRecord } from '#testing/adapters/stores';
import { recordFormats, sha256 } from '#base';
import type { RunId } from '#base';
import { cloister, cloisterJson, newFolder, readWithCloister, repo, team } from './driver.ts';

const version = `cloister ${(JSON.parse(readFileSync(join(repo, 'package.json'), 'utf8')) as { version: string }).version}`;
const original = newFolder();
const runs: string[] = [];

beforeAll(async () => {
  for (const words of ['one two', 'three']) {
    const { run } = await cloisterJson(['run', 'lead', words, '--agents', team, '--workspace', original]);
    runs.push(String(run));
  }
});

const copyOf = (workspace: string): string => {
  const copy = newFolder();
  cpSync(workspace, copy, { recursive: true });
  return copy;
};

const open = (workspace: string): DatabaseSync => new DatabaseSync(join(workspace, 'cloister.db'));

/** A copy with other rows in `meta`; left as a process that has just closed it leaves it. */
const withMeta = (rows: Readonly<Record<string, string | null>>): string => {
  const workspace = copyOf(original);
  using database = open(workspace);
  for (const [key, value] of Object.entries(rows))
    if (value === null) database.prepare('DELETE FROM meta WHERE key = ?').run(key);
    else database.prepare('INSERT OR REPLACE INTO meta VALUES (?, ?)').run(key, value);
  return workspace;
};

/** Every file with its bytes and the time of its last change. */
const bytesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => {
      const { mtimeMs } = statSync(path);
      return `${path.slice(folder.length)} ${mtimeMs} ${statSync(path).isFile() ? sha256(readFileSync(path)) : ''}`;
    });

const readCommands = (run: string): readonly (readonly string[])[] => [
  ['show', run],
  ['show', run, '--window'],
  ['show', run, '--mail'],
  ['audit', run],
  ['explain', run, 'lead'],
  ['dead-letters', '--run', run],
  ['diff', run, run],
  ['replay', run],
];

const writeCommands = (run: string): readonly (readonly string[])[] => [
  ['resume', run],
  ['fork', run, '--at', 'lead'],
];

const workspaceCommands: readonly (readonly string[])[] = [
  ['runs'],
  ['dead-letters'],
  ['checkpoints', 'list'],
  ['conversations', 'list'],
  ['migrate'],
];

const useCommands: readonly (readonly string[])[] = [
  ['run', 'lead', 'four', '--agents', team],
  ['chat', 'lead', '--agents', team],
  ['serve', '--agent', team, '--http', '0'],
];

/** Enough for the other formats: what is tried for one format is not tried again in full. */
const someOf = (commands: readonly (readonly string[])[]) =>
  commands.filter(([name = '']) => ['runs', 'audit', 'replay', 'resume'].includes(name));

const inWorkspace = (args: readonly string[], workspace: string) => {
  const all = [...args, '--workspace', workspace];
  return ['run', 'chat', 'serve', 'resume', 'fork', 'migrate'].includes(args[0]!)
    ? cloister(all, { input: 'hello\n' })
    : readWithCloister(all);
};

describe('a workspace', () => {
  // invariant: database-meta-in-every-format
  test('says which build created it, and which build wrote to it last', async () => {
    const workspace = withMeta({ 'created-by': 'cloister 0.0.9', 'written-by': 'cloister 0.0.9' });
    await cloisterJson(['run', 'lead', 'four', '--agents', team, '--workspace', workspace]);
    using database = open(workspace);
    const meta = Object.fromEntries(
      database
        .prepare('SELECT key, value FROM meta')
        .all()
        .map(({ key, value }) => [key, value]),
    );
    expect(meta).toMatchObject({ cloister: '5', 'created-by': 'cloister 0.0.9', 'written-by': version });
  });

  test('of the newest format needs no migration', async () => {
    const before = bytesIn(original);
    const { code, stdout } = await inWorkspace(['migrate'], original);
    expect([code, stdout]).toEqual([
      0,
      `The workspace has format 5, the newest one, last written by ${version}. Nothing was changed.\n`,
    ]);
    expect(bytesIn(original)).toEqual(before);
  });

  // invariant: database-foreign-never-written
  test.each([
    ['newer', { cloister: '99', 'written-by': 'cloister 9.9.9' }, 'Use cloister 9.9.9 or newer.'],
    ['older', { cloister: '2', 'created-by': null, 'written-by': null }, 'a build that was never released.'],
  ] as const)('of a %s format is refused by every command, and not a byte changes', async (age, meta, words) => {
    const workspace = withMeta(meta);
    const before = bytesIn(workspace);
    expect(before.some((file) => /-wal|-shm/u.test(file))).toBe(false);
    const [run = ''] = runs;
    const all = [...workspaceCommands, ...readCommands(run), ...writeCommands(run), ...useCommands];
    const commands = age === 'newer' ? all : someOf(all);
    for (const args of commands) {
      const { code, stdout, stderr } = await inWorkspace(args, workspace);
      expect([args, code, stdout]).toEqual([args, 1, '']);
      expect(stderr).toContain(`cloister.db has format ${meta.cloister}, written by `);
      expect(stderr).toContain(words);
      expect(stderr).not.toMatch(/damaged|undefined/u);
    }
    await expect(openCloister({ workspace, agents: [] })).rejects.toMatchObject({ code: 'workspace_format' });
    expect(bytesIn(workspace)).toEqual(before);
  });

  // invariant: database-format-found-unopened
  test('of a newer format that another process is writing to is refused, and not a byte changes', async () => {
    const source = withMeta({ cloister: '99', 'written-by': 'cloister 9.9.9' });
    using writer = open(source);
    writer.exec("INSERT INTO meta VALUES ('more', 'words')");
    const workspace = copyOf(source);
    const before = bytesIn(workspace);
    expect(before.filter((file) => /-wal|-shm/u.test(file))).toHaveLength(2);
    expect((await inWorkspace(['runs'], workspace)).stderr).toContain('Use cloister 9.9.9 or newer.');
    expect(bytesIn(workspace)).toEqual(before);
  });
});

/** A copy in which the first record of a run says something else, with all hashes as that build would have written them. */
const withFirstRecord = (run: string, recordedBy: unknown): string => {
  const workspace = copyOf(original);
  using database = open(workspace);
  const rows = database.prepare('SELECT no, body FROM frames WHERE run = ? ORDER BY no').all(run);
  let { hash } = noTail;
  for (const { no, body: stored } of rows) {
    const body = String(unpackRecord(stored));
    const frame = JSON.parse(body) as { record: object };
    const changed = no === 0 ? JSON.stringify({ ...frame, record: { ...frame.record, recordedBy } }) : body;
    hash = recordHash(hash, changed);
    database
      .prepare('UPDATE frames SET body = ?, hash = ? WHERE run = ? AND no = ?')
      .run(changed, hash, run, Number(no));
  }
  const { format = null, build = null } = (recordedBy ?? {}) as { format?: number; build?: string };
  database.prepare('UPDATE runs SET head = ?, format = ?, build = ? WHERE run = ?').run(hash, format, build, run);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  return workspace;
};

describe('a run', () => {
  test('says the format of its records and the build that started it, in its first record only', async () => {
    using database = open(original);
    const rows = database.prepare('SELECT body FROM frames WHERE run = ? ORDER BY no').all(runs[0]!);
    const bodies = rows.map(({ body }) => String(unpackRecord(body)));
    const recordedBy = { format: recordFormats.newest, build: version };
    expect(JSON.parse(bodies[0]!)).toMatchObject({ record: { type: 'open', recordedBy } });
    expect(bodies.slice(1).some((body) => body.includes(version))).toBe(false);
    for (const command of ['show', 'audit'])
      expect(await cloisterJson([command, runs[0]!, '--workspace', original])).toMatchObject({ recordedBy });
    expect((await inWorkspace(['show', runs[0]!], original)).stdout).toContain(
      `\nbuild    ${version}, format ${recordFormats.newest}\n`,
    );
  });

  test.each([
    ['newer', { format: 99, build: 'cloister 9.9.9' }, /recorded by cloister 9\.9\.9 in format 99.*or newer\./u],
    [
      'older',
      { format: 1, build: 'cloister 0.0.1' },
      /recorded by cloister 0\.0\.1 in format 1.*with cloister 0\.0\.1\./u,
    ],
    ['unnamed', undefined, /does not say its format/u],
  ] as const)(
    'of a %s format is refused by every command; the others stay readable',
    async (age, recordedBy, words) => {
      const [run = '', other = ''] = runs;
      const workspace = withFirstRecord(run, recordedBy);
      const database = readFileSync(join(workspace, 'cloister.db'));
      const all = [...readCommands(run), ...writeCommands(run)];
      for (const args of age === 'newer' ? all : someOf(all)) {
        const { code, stdout, stderr } = await inWorkspace(args, workspace);
        expect([args, code, stdout]).toEqual([args, 1, '']);
        expect(stderr).toMatch(words);
        expect(stderr).not.toMatch(/damaged|undefined/u);
      }
      const listed = await inWorkspace(['runs'], workspace);
      expect(listed.stdout).toMatch(words);
      expect(listed.stdout).toMatch(new RegExp(`^${run} .*unreadable`, 'mu'));
      expect((await inWorkspace(['audit', other], workspace)).code).toBe(0);
      await using library = await openCloister({ workspace, agents: [] });
      for (const read of [
        'show',
        'audit',
        'mail',
        'tasks',
        'windows',
        'protocol',
        'replay',
        'resume',
        'rebuild',
      ] as const)
        await expect(library[read](run)).rejects.toMatchObject({ code: 'run_format' });
      const summaries = await library.runs();
      expect(summaries.find((one) => one.run === (run as RunId))?.unreadable).toMatch(words);
      expect(summaries.find((one) => one.run === (other as RunId))?.unreadable).toBeUndefined();
      expect(readFileSync(join(workspace, 'cloister.db'))).toEqual(database);
    },
  );
});
