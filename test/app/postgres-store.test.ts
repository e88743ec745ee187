// Runs in PostgreSQL: openCloister, the commands, and copies of whole stores.
import { describe, expect, onTestFinished, test } from 'vitest';
import { copyStorePlaces, openPostgresStore, openSqliteStore } from '#adapters/stores';
import type { Store } from '#contracts';
import { defineAgent, defineTool, openCloister } from 'cloister';
import type { Cloister } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { deletionOf } from '../conformance/deletions.ts';
import { signalOf } from '../conformance/signals.ts';
import { newTemporaryFolder } from '../isolation/temporary-folder.ts';
import { startTestDatabase } from '../postgres.ts';

const database = await startTestDatabase();

const note = defineTool({
  name: 'note',
  description: 'Writes a long note.',
  inputSchema: { type: 'object', properties: {} },
  execute: () => 'A long note. NUL \u0000 '.repeat(2_000),
});

/** An agent with a tool whose output is long. */
const openLead = async (where: { store?: string; workspace: string }): Promise<Cloister> => {
  const lead = defineAgent({
    name: 'lead',
    description: 'Leads.',
    prompt: 'Lead.',
    tools: [note],
    models: [
      rehearse([
        { when: ({ turn }) => turn === 1, reply: { calls: [{ tool: 'note', args: {} }] } },
        { when: ({ turn }) => turn === 2, reply: 'Done.' },
      ]),
    ],
  });
  const cloister = await openCloister({ agents: [lead], ...where });
  onTestFinished(() => cloister.close());
  return cloister;
};

/** Everything that a store has, as it can be read. */
const contentsOf = async (store: Store) => {
  const listed = await store.list();
  const bodies = await Promise.all(listed.map(({ run }) => store.readBodies(run)));
  const refs = [...new Set(bodies.flat().flatMap((body) => body.match(/[0-9a-f]{64}/gu) ?? []))];
  const blobs = await Promise.all(
    refs.map(async (ref) => [
      ref,
      await store.getBlob(ref).then(
        (bytes) => [...bytes],
        () => null,
      ),
    ]),
  );
  const log = await store.readWorkspaceLog();
  const signals = (await store.signals()).map(({ run, id, body }) => ({ run, id, body }));
  const gone = log.flatMap(({ record }) => (record.type === 'tombstone' ? [record.tombstone.run] : []));
  return {
    listed,
    bodies,
    blobs,
    log,
    signals,
    pending: await store.pendingDeletions(),
    tombstones: await Promise.all(gone.map((run) => store.tombstone(run))),
  };
};

describe.skipIf(database === null)('runs in PostgreSQL', () => {
  const { newStore } = database!;

  test('are recorded, read by another process, audited and replayed as in a workspace', async () => {
    const store = await newStore();
    const [one, other] = [
      await openLead({ store, workspace: newTemporaryFolder() }),
      await openLead({ store, workspace: newTemporaryFolder() }),
    ];
    const outcome = await one.run('lead', 'Write it.').outcome;
    expect(outcome.status).toBe('completed');
    expect((await other.runs()).map(({ run, state }) => ({ run, state }))).toEqual([
      { run: outcome.run, state: 'ended' },
    ]);
    expect((await other.audit(outcome.run)).problems).toEqual([]);
    expect((await other.replay(outcome.run)).differences).toEqual([]);
    // What is derived from the log can be made again, here its files on this machine, and its row.
    const schema = new URL(store).searchParams.get('schema')!;
    const listed = await one.runs();
    database!.server.run(`DELETE FROM ${schema}.runs`, store);
    expect(await other.runs({ run: outcome.run })).toMatchObject([{ run: outcome.run, state: 'damaged' }]);
    const report = await other.rebuild(outcome.run);
    expect(report).toMatchObject({ runs: 1, listed: [outcome.run], skipped: [] });
    expect(report.files).toBeGreaterThan(1);
    expect(await one.runs()).toEqual(listed);
    expect(await one.rebuild()).toEqual({ runs: 1, listed: [], files: 0, skipped: [] });
  });

  // invariants: copy-checks-every-record, copy-all-or-nothing
  test('and those of a workspace are copied byte for byte, there and back', async () => {
    const [workspace, back] = [newTemporaryFolder(), newTemporaryFolder()];
    const cloister = await openLead({ workspace });
    for (const input of ['one', 'two', 'three']) await cloister.run('lead', input).outcome;
    await cloister.close();
    const sqlite = await openSqliteStore(workspace);
    const [, gone] = await sqlite.list();
    await sqlite.deleteRuns([await deletionOf(sqlite, gone!.run)]);
    await sqlite.putSignal(signalOf(gone!.run, 'one', { body: { text: '\u0000 \ud800' } }));
    const before = await contentsOf(sqlite);
    await sqlite.close();
    const url = await newStore();
    const counts = await copyStorePlaces({ from: workspace, to: url, build: 'test' });
    expect(counts).toMatchObject({ runs: 2, tombstones: 1, signals: 1, records: 1 });
    expect(counts.blobs).toBeGreaterThan(0);
    const postgres = await openPostgresStore(url);
    expect(await contentsOf(postgres)).toEqual(before);
    await postgres.close();
    await copyStorePlaces({ from: url, to: back, build: 'test' });
    const again = await openSqliteStore(back);
    expect(await contentsOf(again)).toEqual(before);
    await again.close();
    for (const to of [url, back])
      await expect(copyStorePlaces({ from: workspace, to, build: 'test' })).rejects.toMatchObject({
        code: 'options_invalid',
        message: expect.stringContaining('not empty'),
      });
  });

  test('are not copied if a record is damaged, or while somebody works on one; the target stays empty', async () => {
    const [from, to] = [await newStore(), await newStore()];
    const cloister = await openLead({ store: from, workspace: newTemporaryFolder() });
    const { run } = await cloister.run('lead', 'one').outcome;
    await cloister.close();
    const schema = new URL(from).searchParams.get('schema')!;
    database!.server.run(`UPDATE ${schema}.frames SET body = replace(body, 'lead', 'load') WHERE no = 2`, from);
    await expect(copyStorePlaces({ from, to, build: 'test' })).rejects.toMatchObject({ code: 'store_damaged' });
    const target = await openPostgresStore(to);
    expect(await target.list()).toEqual([]);
    await target.close();
    const owner = await openPostgresStore(from);
    await owner.acquireRun(run);
    await owner.close();
  });
});
