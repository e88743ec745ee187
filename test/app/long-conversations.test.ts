// A turn in a long conversation costs the same as in a short one: only what it can be shown is read.
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Store } from '#contracts';
import { openSqliteStore } from '#adapters/stores';
import { foldWorkspaceLog } from '../../src/app/conversations/workspace-state.ts';
import { EntryReader } from '../../src/app/conversations/entry-reader.ts';
import { buildHistory } from '../../src/app/conversations/build-history.ts';
import { newestEntries } from '#testing/app/conversations';
import { newWorkspace, openTalk, ref, takeTurn } from './conversations-driver.ts';

/** The conversation `main` of a workspace, and how many of its logs are read. */
const openCountingReads = async (workspace: string) => {
  const store = await openSqliteStore(workspace);
  onTestFinished(() => store.close());
  const reads: string[] = [];
  const counted: Store = {
    ...store,
    read: (run) => {
      reads.push(run);
      return store.read(run);
    },
  };
  const [conversation] = foldWorkspaceLog(await store.readWorkspaceLog()).conversations.values();
  return { conversation: conversation!, reads, newReader: () => new EntryReader(counted) };
};

describe('the history a turn is shown', () => {
  // invariants: newest-entries-in-order, newest-entries-all-context
  test('is the same as if everything had been read, whatever fits', async () => {
    const workspace = newWorkspace();
    const talk = await openTalk({ workspace, agents: { lead: {}, scout: {} } });
    await takeTurn(talk, 'First.', { context: ['It rains.'] });
    await talk.cloister.conversations.attach(ref('main'), 'scout');
    for (let nth = 0; nth < 12; nth++)
      await takeTurn(talk, `Number ${nth}. ${'x'.repeat(nth * 7)}`, {
        agent: nth % 3 === 0 ? 'scout' : 'lead',
        conversation: ref('main'),
        ...(nth % 5 === 4 ? { context: [`It snows ${nth}.`] } : {}),
      });
    await talk.cloister.close();
    const { conversation, newReader } = await openCountingReads(workspace);
    const entries = await newReader().entries(conversation);
    expect(entries.length).toBe(29);
    for (const bytesMax of [10, 120, 300, 500, 800, 1_200, 2_000, 5_000]) {
      const found = await newestEntries(conversation, bytesMax, newReader());
      const request = { conversation: 'main', agent: 'lead', context: ['Now.'], bytesMax };
      expect(buildHistory({ ...request, ...found })).toEqual(buildHistory({ ...request, entries }));
    }
  });

  test('is read from as many turns in a long conversation as in a short one', async () => {
    const workspace = newWorkspace();
    const talk = await openTalk({ workspace });
    const readFor = async (): Promise<number> => {
      const { conversation, reads, newReader } = await openCountingReads(workspace);
      await newestEntries(conversation, 400, newReader());
      return reads.length;
    };
    const sayMore = async (count: number): Promise<void> => {
      for (let nth = 0; nth < count; nth++) await takeTurn(talk, 'Always the same.');
      await talk.cloister.checkpoints.list();
    };
    await sayMore(10);
    const short = await readFor();
    expect(short).toBeLessThan(6);
    await sayMore(30);
    expect(await readFor()).toBe(short);
  });
});
