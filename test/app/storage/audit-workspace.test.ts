// What an audit finds in a workspace besides its runs.
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openCloister } from 'cloister';
import type { Cloister, WorkspaceAudit } from 'cloister';
import { expect, test } from 'vitest';
import { sha256 } from '#base';
import { lostLogNotice } from '../../../src/app/lost-log.ts';
import { newWorkspace, openTalk, takeTurn } from '../conversations-driver.ts';

const tool = {
  name: 'dump',
  description: 'Says a lot.',
  inputSchema: { type: 'object' as const },
  repeat: 'free' as const,
  execute: async () => 'long '.repeat(20_000),
};

/** Two runs with step files and a blob; the workspace is closed. */
const withRuns = async () => {
  const workspace = newWorkspace();
  const says = ['Hello one.', 'Hello two.'].map((text) => ({
    when: { text },
    times: 1,
    reply: { calls: [{ tool: 'dump', args: {} }] },
  }));
  const { cloister } = await openTalk({ workspace, agents: { lead: { tools: [tool] } }, says });
  const runs = [];
  for (const name of ['one', 'two'])
    runs.push((await takeTurn({ cloister }, `Hello ${name}.`, { conversation: name })).run);
  for (const run of runs) await cloister.rebuild(run);
  expect(await cloister.storage.audit()).toEqual({ ok: true, problems: [], leftovers: [] });
  await cloister.close();
  return { workspace, runs };
};

const change = (workspace: string, sql: string, ...values: (string | number | Uint8Array)[]): void => {
  using database = new DatabaseSync(join(workspace, 'cloister.db'));
  database.prepare(sql).run(...values);
};

const opened = async <T>(workspace: string, work: (cloister: Cloister) => Promise<T>): Promise<T> => {
  await using cloister = await openCloister({ workspace, agents: [] });
  return await work(cloister);
};

const audit = (workspace: string): Promise<WorkspaceAudit> => opened(workspace, ({ storage }) => storage.audit());

test('folders of no run, and of deleted runs, are problems; a deletion that is not finished explains its folder', async () => {
  const { workspace, runs } = await withRuns();
  mkdirSync(join(workspace, 'runs', 'stranger'));
  cpSync(join(workspace, 'runs', runs[0]!), join(workspace, 'copy'), { recursive: true });
  await opened(workspace, ({ storage }) => storage.delete({ runs: [runs[0]!] }));
  cpSync(join(workspace, 'copy'), join(workspace, 'runs', runs[0]!), { recursive: true });
  const { ok, problems } = await audit(workspace);
  expect(ok).toBe(false);
  expect(problems).toHaveLength(2);
  expect(problems).toContainEqual({
    code: 'folder-stray',
    where: `folder runs/${runs[0]}`,
    message: 'it belongs to a run that was deleted',
  });
  expect(problems).toContainEqual({
    code: 'folder-stray',
    where: 'folder runs/stranger',
    message: 'no run of the log has that name: its records were deleted, or are in another database',
  });
  change(workspace, "UPDATE deleted SET pending = '{}'");
  expect(await audit(workspace)).toMatchObject({ problems: [{ where: 'folder runs/stranger' }] });
});

test('a deletion that the database has forgotten, and a damaged workspace log or signal, are problems', async () => {
  const { workspace, runs } = await withRuns();
  await opened(workspace, ({ storage }) => storage.delete({ runs: [runs[0]!] }));
  change(workspace, 'DELETE FROM deleted');
  expect(await audit(workspace)).toMatchObject({ problems: [{ code: 'tombstone-lost', where: `run ${runs[0]}` }] });
  const signal = "INSERT INTO signals(run, id, by, at, body) VALUES (?, 'x', 'x', 1, '{')";
  change(workspace, signal, runs[1]!);
  change(workspace, "UPDATE book SET body = replace(body, 'two', 'twa')");
  expect((await audit(workspace)).problems.map(({ code }) => code)).toEqual(['workspace-log', 'signal-damaged']);
});

test('rows that belong to no run are left over, and no problem', async () => {
  const { workspace } = await withRuns();
  using database = new DatabaseSync(join(workspace, 'cloister.db'));
  database
    .prepare("INSERT INTO owners(run, pid, host, started, since, instance) VALUES ('gone', 4194304, ?, '1', 1, 'x')")
    .run(hostname());
  const signal = database.prepare("INSERT INTO signals(run, id, by, at, body) VALUES (?, 'x', 'x', 1, '{}')");
  signal.run('nobody');
  signal.run('inbox.slack.1');
  const [unused, used] = [sha256('unused'), sha256('used')];
  for (const text of ['unused', 'used'])
    database.prepare('INSERT INTO blobs(ref, bytes) VALUES (?, ?)').run(sha256(text), Buffer.from(text));
  database
    .prepare("INSERT INTO signals(run, id, by, at, body) VALUES ('inbox.slack.1', 'y', 'y', 1, ?)")
    .run(JSON.stringify({ file: used }));
  database.close();
  const { ok, problems, leftovers } = await audit(workspace);
  expect({ ok, problems }).toEqual({ ok: true, problems: [] });
  expect(leftovers).toEqual([
    { kind: 'owner', name: 'gone' },
    { kind: 'signals', name: 'nobody' },
    { kind: 'blob', name: unused },
  ]);
});

test('a workspace whose log and heads were deleted says so, and a new one does not', async () => {
  const { workspace, runs } = await withRuns();
  expect(await opened(workspace, lostLogNotice)).toBeNull();
  for (const name of ['cloister.db', 'cloister.db-wal', 'cloister.db-shm', 'heads'])
    rmSync(join(workspace, name), { recursive: true, force: true });
  expect(await opened(workspace, lostLogNotice)).toBe(
    `${workspace} has 2 folders of runs, and its log knows no run: cloister.db and heads/ were deleted or replaced. Restore both from a backup. \`cloister audit --all\` names the folders.`,
  );
  const named = (await audit(workspace)).problems.map(({ where }) => where);
  expect(named.toSorted()).toEqual(runs.map((run) => `folder runs/${run}`).toSorted());
  rmSync(join(workspace, 'runs'), { recursive: true });
  expect(await opened(workspace, lostLogNotice)).toBe(
    `${workspace} has conversations/ and no log: cloister.db and heads/ were deleted or replaced. Restore both from a backup.`,
  );
  expect(await opened(newWorkspace(), lostLogNotice)).toBeNull();
  const inMemory = await openTalk({ store: 'memory' });
  expect(await lostLogNotice(inMemory.cloister)).toBeNull();
  expect(await inMemory.cloister.storage.audit()).toEqual({ ok: true, problems: [], leftovers: [] });
});
