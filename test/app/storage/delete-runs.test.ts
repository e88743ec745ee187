// Deleting runs: what goes, what stops it, what is left, and that a crash at any step is finished later.
import { cpSync, existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { openCloister } from 'cloister';
import type { Cloister } from 'cloister';
import { describe, expect, test } from 'vitest';
import { memoryCellFolders } from '#adapters/cell-folders';
import { validate } from '#adapters/schemas';
import { openSqliteStore } from '#adapters/stores';
import { exportFolder, readConversationSettings } from '#app/conversations';
import { recordFormats } from '#base';
import type { Store } from '#contracts';
import { countingIds } from '#testkit';
import { LocalCloister } from '../../../src/app/local-cloister.ts';
import { systemClock } from '../../../src/app/system-world.ts';
import { storedRecords } from '../../stored-text.ts';
import { gate, newWorkspace, openTalk, ref, takeTurn, waitsFirst } from '../conversations-driver.ts';

const secret = 'zebra-crossing-42';

/** The files of a workspace in which the text occurs, and `records` if it occurs in those, packed or not. */
const filesWith = (folder: string, text = secret): readonly string[] => [
  ...(storedRecords(folder).includes(text) ? ['records'] : []),
  ...readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    const path = join(entry.parentPath, entry.name);
    return entry.isFile() && readFileSync(path).includes(text) ? [path.slice(folder.length + 1)] : [];
  }),
];

const code = (work: Promise<unknown>): Promise<string | null> =>
  work.then(
    () => null,
    (error: Error & { code?: string }) => error.code ?? error.message,
  );

const runsOf = (cloister: Cloister): Promise<readonly string[]> =>
  cloister.runs().then((all) => all.map(({ run }) => run).toSorted());

/** A conversation with three turns, the second of which says the secret. */
const talkAbout = async (workspace = newWorkspace()) => {
  const talk = await openTalk({ workspace });
  const runs: string[] = [];
  for (const text of ['Hello.', `My name is ${secret}.`, 'Who am I?'])
    runs.push((await takeTurn(talk, text, { conversation: 'trip' })).run);
  const other = (await takeTurn(talk, 'Something else.')).run;
  await talk.cloister.conversations.export(ref('trip'));
  return { ...talk, workspace, runs: runs as [string, string, string], other };
};

describe('a run that is deleted', () => {
  // invariants: deletion-names-copies, exports-forget, copies-from-records
  test('stops at later turns that were shown its text, and takes them along if asked', async () => {
    const { cloister, workspace, runs, other } = await talkAbout();
    const [first, second, third] = runs;
    await expect(cloister.storage.delete({ runs: [second] })).rejects.toMatchObject({
      failure: { code: 'run_kept', detail: expect.stringContaining(`run ${third}, a later turn of "trip"`) },
    });
    expect(await runsOf(cloister)).toHaveLength(4);
    expect(filesWith(workspace)).toContain('records');
    const report = await cloister.storage.delete({ runs: [second] }, { withLater: true, why: 'She asked.' });
    expect(report.tombstones.map(({ run }) => run).toSorted()).toEqual([second, third].toSorted());
    expect(report).toMatchObject({ left: [], conversations: [], space: { isFinished: true } });
    expect(filesWith(workspace)).toEqual([]);
    expect(await runsOf(cloister)).toEqual([first, other].toSorted());
    // The conversation goes on as if the turns had not been.
    const { entries, turns } = await cloister.conversations.show(ref('trip'));
    expect([turns, entries.map(({ text }) => text)]).toEqual([1, ['Hello.', 'lead heard Hello.']]);
    const exported = JSON.parse(readFileSync(join(workspace, 'conversations/lead/trip.json'), 'utf8'));
    expect(exported.entries).toEqual(entries);
    const next = await takeTurn({ cloister }, 'And now?', { conversation: 'trip' });
    expect((await cloister.show(next.run)).history.map(({ text }) => text)).toEqual(['Hello.', 'lead heard Hello.']);
    expect(await cloister.audit(next.run)).toMatchObject({ ok: true });
  });

  test('leaves a tombstone with its times, its log’s head, who and why, and no text', async () => {
    const { cloister, runs } = await talkAbout();
    const [summary] = await cloister.runs({ run: runs[2] });
    await cloister.storage.delete({ runs: [runs[2]] }, { why: 'A test.', by: 'ops' });
    const tombstone = await cloister.storage.tombstone(runs[2]);
    expect(tombstone).toEqual({
      format: 1,
      run: runs[2],
      startedAt: summary!.startedAt,
      endedAt: summary!.endedAt,
      frames: expect.any(Number),
      head: expect.stringMatching(/^[0-9a-f]{64}$/u),
      deletedAt: expect.any(Number),
      by: 'ops',
      why: 'A test.',
      key: null,
      signature: null,
    });
    expect(await code(cloister.show(runs[2]))).toBe('run_unknown');
    expect(await code(cloister.storage.delete({ runs: [runs[2]] }))).toBe('run_unknown');
  });

  // invariant: deleted-run-counts-nowhere
  test('can go alone, if that is forced: the copies are named', async () => {
    const { cloister, runs } = await talkAbout();
    const report = await cloister.storage.delete({ runs: [runs[1]] }, { force: true });
    expect(report.left).toEqual([{ kind: 'turn', run: runs[2], conversation: ref('trip') }]);
    expect((await cloister.conversations.show(ref('trip'))).turns).toBe(2);
    expect(await cloister.audit(runs[2])).toMatchObject({ ok: true });
  });

  test('changes nothing if it is only asked what would go', async () => {
    const { cloister, runs, workspace } = await talkAbout();
    const before = filesWith(workspace);
    const report = await cloister.storage.delete({ runs: [runs[1]] }, { withLater: true, dryRun: true });
    expect(report.tombstones).toHaveLength(2);
    expect([await runsOf(cloister), filesWith(workspace)]).toEqual([expect.objectContaining({ length: 4 }), before]);
  });

  test('takes along its forks, and checkpoints that somebody asked for, with their files', async () => {
    const { cloister, workspace, runs } = await talkAbout();
    const { run } = await takeTurn({ cloister }, `Again: ${secret}.`, { conversation: 'alone' });
    const [root] = (await cloister.show(run)).cells;
    const fork = await cloister.fork(run, { at: root!.cell });
    await fork.outcome;
    const checkpoint = await cloister.checkpoints.create(run, { label: 'here' });
    const branch = await cloister.checkpoints.branch(checkpoint.id, { name: 'aside' });
    expect(branch.conversation).toEqual(ref('aside'));
    const inBranch = await takeTurn({ cloister }, 'Go on.', { conversation: 'aside' });
    const refusal = await cloister.storage.delete({ runs: [run] }).catch((error: Error) => error.message);
    for (const named of [`run ${fork.run}, which continues it`, `checkpoint ${checkpoint.id}`, '"aside" of "lead"'])
      expect(refusal).toContain(named);
    const report = await cloister.storage.delete({ runs: [run] }, { withLater: true });
    expect(new Set(report.tombstones.map((one) => one.run))).toEqual(new Set([run, fork.run, inBranch.run]));
    expect(report.conversations).toEqual([ref('aside')]);
    await cloister.storage.delete({ runs: [runs[1]] }, { withLater: true });
    expect(filesWith(workspace)).toEqual([]);
    expect((await cloister.checkpoints.list()).map(({ id }) => id)).not.toContain(checkpoint.id);
    expect(existsSync(join(workspace, 'agents/lead/checkpoints', `${checkpoint.id}.json`))).toBe(false);
    expect(await code(cloister.conversations.show(ref('aside')))).toBe('conversation_unknown');
  });

  test('is refused while it is live, and unless forced, before it has ended', async () => {
    const { tool, open, reached } = gate();
    const workspace = newWorkspace();
    const { cloister } = await openTalk({ workspace, agents: { lead: { tools: [tool] } }, says: waitsFirst });
    const session = cloister.run('lead', `Wait. ${secret}`);
    await reached;
    expect(await code(cloister.storage.delete({ runs: [session.run] }, { force: true }))).toBe('run_owned');
    await cloister.close();
    open();
    const later = await openTalk({ workspace });
    expect(await later.cloister.runs()).toMatchObject([{ state: 'ended', status: 'cancelled' }]);
    await later.cloister.storage.delete({ runs: [session.run] });
    expect(filesWith(workspace)).toEqual([]);
  });

  test('is not known to have been: an id that never was is refused in the same words', async () => {
    const { cloister, runs } = await talkAbout();
    await cloister.storage.delete({ runs: [runs[2]] });
    for (const run of [runs[2], 'nobody'])
      expect(await code(cloister.storage.delete({ runs: [run] }))).toBe('run_unknown');
  });
});

// invariant: deletion-decided-once
test('a deletion that was decided before the workspace changed is decided anew', async () => {
  const { cloister, workspace, runs } = await talkAbout();
  const other = await openTalk({ workspace });
  const meanwhile = takeTurn(other, 'Meanwhile.', { conversation: 'trip' });
  const [deleted, { run }] = await Promise.all([code(cloister.storage.delete({ runs: [runs[2]] })), meanwhile]);
  // Either the turn was there in time to be named, or it was never shown the run.
  const { history } = await cloister.show(run);
  expect(history.some(({ text }) => text === 'Who am I?')).toBe(deleted === 'run_kept');
});

describe('the right to be forgotten', () => {
  test('a conversation goes with all of its runs, its exports and its name', async () => {
    const { cloister, workspace, other } = await talkAbout();
    const report = await cloister.storage.delete({ conversation: ref('trip') });
    expect(report.conversations).toEqual([ref('trip')]);
    expect(report.tombstones).toHaveLength(3);
    expect(filesWith(workspace)).toEqual([]);
    expect(await runsOf(cloister)).toEqual([other]);
    expect(existsSync(join(workspace, 'conversations/lead/trip.json'))).toBe(false);
    expect((await cloister.conversations.list({ deleted: true })).map(({ name }) => name)).toEqual(['main']);
    expect(await code(cloister.storage.delete({ conversation: ref('trip') }))).toBe('conversation_unknown');
    // The name can be used again, and nothing of before comes back.
    const { run } = await takeTurn({ cloister }, 'Hi.', { conversation: 'trip' });
    expect((await cloister.show(run)).history).toEqual([]);
  });

  test('a caller of a server goes with its runs and conversations, and no other caller is affected', async () => {
    const workspace = newWorkspace();
    const { cloister } = await openTalk({ workspace });
    for (const caller of ['alice', 'bob'])
      for (const text of [`${caller} is ${secret}-${caller}`, 'And?'])
        await (
          await cloister.runTurn('lead', text, { conversation: `${caller}/trip`, caller })
        ).outcome;
    await cloister.run('lead', `${secret}-alice`, { caller: 'alice' }).outcome;
    const before = (await cloister.runs({ caller: 'bob' })).map(({ run }) => run);
    const report = await cloister.storage.delete({ caller: 'alice' });
    expect([report.tombstones.length, report.conversations]).toEqual([3, [ref('alice/trip')]]);
    expect(filesWith(workspace, `${secret}-alice`)).toEqual([]);
    expect(filesWith(workspace, `${secret}-bob`)).not.toEqual([]);
    expect((await cloister.runs()).map(({ run }) => run)).toEqual(before);
    expect((await cloister.conversations.show(ref('bob/trip'))).turns).toBe(2);
    expect((await cloister.storage.delete({ caller: 'nobody' })).tombstones).toEqual([]);
  });
});

// invariants: deletion-finished-last, exports-forget
test.each(['a deletion', 'an expiry'])(
  'whatever step of %s a process dies at, the next one finishes it',
  async (what) => {
    const { cloister, workspace: original, runs } = await talkAbout();
    // An expiry would spare a conversation with a checkpoint.
    const checkpoint = what === 'a deletion' ? await cloister.checkpoints.create(runs[1]) : null;
    await cloister.close();
    for (let step = 0; ; step++) {
      const workspace = newWorkspace();
      cpSync(original, workspace, { recursive: true });
      const dying = await openDying(workspace, step);
      const { storage } = dying.cloister;
      const failed = await code(
        checkpoint === null ? storage.expire({ runs: 1 }) : storage.delete({ conversation: ref('trip') }),
      );
      const isDead = dying.isDead();
      await dying.cloister.close();
      await using next = await openCloister({ workspace, agents: [] });
      const isDecided = (await next.runs()).length === 1;
      if (!isDecided) expect(await runsOf(next)).toHaveLength(4);
      else {
        expect([step, filesWith(workspace)]).toEqual([step, []]);
        expect(await next.storage.finishDeletions()).toBe(0);
        expect((await next.conversations.list({ deleted: true })).map(({ name }) => name)).toEqual(['main']);
        expect((await next.checkpoints.list()).map(({ id }) => id)).not.toContain(checkpoint?.id);
      }
      if (!isDead) {
        expect([failed, isDecided]).toEqual([null, true]);
        expect(step).toBeGreaterThan(4);
        return;
      }
      expect(failed).toBe('The process is gone.');
    }
  },
  120_000,
);

/** From the nth change of the store or of the exported files on, nothing happens any more. */
const openDying = async (workspace: string, step: number) => {
  let steps = 0;
  let isDead = false;
  const guard = <T extends object>(target: T, names: readonly (keyof T)[]): T => {
    const guarded = { ...target };
    for (const name of names) {
      const original = target[name] as (...given: unknown[]) => Promise<unknown>;
      guarded[name] = (async (...given: unknown[]) => {
        isDead ||= steps++ === step;
        if (isDead) throw new Error('The process is gone.');
        return original(...given);
      }) as T[typeof name];
    }
    return guarded;
  };
  const files = guard(exportFolder(workspace), ['write', 'remove']);
  const cloister = new LocalCloister([], {
    store: guard<Store>(await openSqliteStore(workspace), ['deleteRuns', 'finishDeletions', 'appendRecord']),
    workspaces: memoryCellFolders(),
    validate,
    schemaProblem: () => null,
    toolSchemaProblem: () => null,
    clock: systemClock,
    ids: countingIds(),
    lanes: new Map(),
    resources: {
      agents: [],
      redactFor: () => null,
      prepare: async () => undefined,
      resourcesFor: () => ({ models: [], sources: [] }),
      modelsOf: () => [],
    },
    startInfo: undefined,
    recordedBy: { format: recordFormats.newest, build: 'test' },
    conversationSettings: readConversationSettings(files, {}),
  });
  return { cloister, isDead: () => isDead };
};
