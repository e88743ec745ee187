// Archives: a run as one file, which comes back byte for byte, and nothing else is taken for one.
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { openCloister } from 'cloister';
import { expect, test } from 'vitest';
import { openArchive } from '../../../src/app/open-archive.ts';
import { newWorkspace, openTalk, ref, takeTurn } from '../conversations-driver.ts';

const tool = {
  name: 'lookup',
  description: 'Looks something up.',
  inputSchema: { type: 'object' as const },
  repeat: 'free' as const,
  execute: async () => 'long '.repeat(20_000),
};

/** A run with a long output, which is a blob. */
const withRun = async () => {
  const workspace = newWorkspace();
  const says = [{ when: { text: 'Hello' }, times: 1, reply: { calls: [{ tool: 'lookup', args: {} }] } }];
  const { cloister } = await openTalk({ workspace, agents: { lead: { tools: [tool] } }, says });
  const { run } = await takeTurn({ cloister }, 'Hello.', { conversation: 'trip' });
  return { cloister, workspace, run };
};

// invariants: archive-byte-for-byte, archive-checked-whole
test('an exported run is imported elsewhere as it was, and exports the same bytes', async () => {
  const { cloister, run } = await withRun();
  const bytes = await cloister.storage.export(run);
  await using other = await openCloister({ workspace: newWorkspace(), agents: [] });
  expect(await other.storage.import(bytes)).toBe(run);
  expect(await other.show(run)).toEqual(await cloister.show(run));
  expect(await other.audit(run)).toMatchObject({ ok: true });
  expect(Buffer.from(await other.storage.export(run)).equals(bytes)).toBe(true);
  await expect(other.storage.import(bytes)).rejects.toMatchObject({ code: 'run_exists' });
});

test('a damaged, cut or foreign file is refused, and nothing is lost', async () => {
  const { cloister, run } = await withRun();
  const bytes = Buffer.from(await cloister.storage.export(run));
  const text = gunzipSync(bytes).toString();
  const flipped = Buffer.from(bytes);
  flipped[bytes.length >> 1]! ^= 1;
  await using other = await openCloister({ workspace: newWorkspace(), agents: [] });
  for (const wrong of [
    flipped,
    bytes.subarray(0, bytes.length - 20),
    gzipSync(text.replace('Hello', 'Hallo')),
    gzipSync(text.slice(0, text.length >> 1)),
    gzipSync('{"some":"json"}\n'),
    gzipSync(''),
    Buffer.from('text'),
  ])
    await expect(other.storage.import(wrong)).rejects.toMatchObject({ code: 'archive_invalid' });
  expect(await other.runs()).toEqual([]);
});

// invariant: archive-before-deletion
test('an archived run leaves a tombstone that names its file, is read there, and comes back to its place', async () => {
  const { cloister, workspace, run } = await withRun();
  const before = { report: await cloister.show(run), talk: await cloister.conversations.show(ref('trip')) };
  const { tombstones } = await cloister.storage.archive([run]);
  const file = join(workspace, 'archive', tombstones[0]!.archive!.file);
  await expect(cloister.show(run)).rejects.toMatchObject({ code: 'run_unknown' });
  const { store } = await openArchive(file);
  expect((await store.list()).map((one) => one.run)).toEqual([run]);
  const intact = readFileSync(file);
  writeFileSync(file, intact.subarray(1));
  await expect(cloister.storage.restore(run)).rejects.toMatchObject({ code: 'archive_invalid' });
  writeFileSync(file, intact);
  await cloister.storage.restore(run);
  expect(await cloister.show(run)).toEqual(before.report);
  expect((await cloister.conversations.show(ref('trip'))).entries).toEqual(before.talk.entries);
  expect(await cloister.storage.tombstone(run)).toBeNull();
  await expect(cloister.storage.restore(run)).rejects.toMatchObject({ code: 'run_unknown' });
});

test('a run that was deleted is imported again only if that is forced', async () => {
  const { cloister, run } = await withRun();
  const bytes = await cloister.storage.export(run);
  await cloister.storage.delete({ runs: [run] });
  await expect(cloister.storage.import(bytes)).rejects.toMatchObject({ code: 'run_kept' });
  expect(await cloister.storage.import(bytes, { force: true })).toBe(run);
  expect(await cloister.audit(run)).toMatchObject({ ok: true });
});

// invariant: deletion-names-copies
test('an archive goes with its caller or its conversation, is listed before, and stops what would leave it', async () => {
  const folderOf = (workspace: string): readonly string[] => readdirSync(join(workspace, 'archive')).toSorted();
  const workspace = newWorkspace();
  const { cloister } = await openTalk({ workspace });
  const talk = async (caller: string, text: string, conversation: string) =>
    (await (await cloister.runTurn('lead', text, { conversation, caller })).outcome).run;
  const [first, second] = [await talk('ann', 'One.', 'ann/trip'), await talk('ann', 'Two.', 'ann/trip')];
  const [other, plain] = [await talk('bob', 'Three.', 'bob/trip'), await talk('bob', 'Four.', 'bob/tour')];
  const file = (run: string): string => `${run}.cloister.gz`;
  await cloister.storage.archive([second, other, plain]);
  // A run's later turn is in an archive.
  await expect(cloister.storage.delete({ runs: [first] })).rejects.toMatchObject({
    code: 'run_kept',
    failure: { detail: expect.stringContaining(second) },
  });
  writeFileSync(join(workspace, 'archive', 'damaged.cloister.gz'), 'text');
  // One that nothing here knows of any more.
  cpSync(join(workspace, 'archive', file(second)), join(workspace, 'archive', 'copy.cloister.gz'));
  const before = await cloister.storage.delete({ caller: 'ann' }, { dryRun: true });
  expect(before.archives.toSorted()).toEqual([file(second), 'copy.cloister.gz'].toSorted());
  expect(before.otherFiles).toEqual(['damaged.cloister.gz']);
  expect(folderOf(workspace)).toHaveLength(5);
  const report = await cloister.storage.delete({ caller: 'ann' }, { why: 'She asked.' });
  expect(report.tombstones.map(({ run, why }) => `${run} ${why}`).toSorted()).toEqual(
    [first, second].map((run) => `${run} She asked.`).toSorted(),
  );
  expect(folderOf(workspace)).toEqual([file(other), file(plain), 'damaged.cloister.gz'].toSorted());
  expect((await cloister.storage.tombstone(second))?.archive).toBeUndefined();
  await expect(cloister.storage.restore(second)).rejects.toMatchObject({ code: 'run_unknown' });
  await cloister.storage.delete({ conversation: { agent: 'lead', name: 'bob/tour' } });
  expect(folderOf(workspace)).toEqual([file(other), 'damaged.cloister.gz'].toSorted());
  await cloister.storage.delete({ runs: [other] });
  expect(folderOf(workspace)).toEqual(['damaged.cloister.gz']);
  expect((await cloister.storage.tombstones({ prefix: other.slice(0, 8) })).map(({ run }) => run)).toEqual([other]);
});
