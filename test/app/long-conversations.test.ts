// A turn in a long conversation costs what a turn in a short one costs: only what it can be told is read.
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Store } from '#contracts';
import { openSqliteStore } from '#adapters/stores';
import { foldWorkspaceLog } from '../../src/app/conversations/workspace-state.ts';
import { EntryReader } from '../../src/app/conversations/entry-reader.ts';
import { historyFor } from '../../src/app/conversations/build-history.ts';
import { newestEntries } from '../../src/app/conversations/newest-entries.ts';
import { newWorkspace, openTalk, ref, say } from './conversations-driver.ts';

/** The conversation `main` of a workspace, and how many logs are read of it. */
const looking = async (workspace: string) => {
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

describe('what a turn is told', () => {
  test('is what it would be told if all were read, whatever fits', async () => {
    const workspace = newWorkspace();
    const talk = await openTalk({ workspace, agents: { lead: {}, scout: {} } });
    await say(talk, 'First.', { context: ['It rains.'] });
    await talk.cloister.conversations.attach(ref('main'), 'scout');
    for (let nth = 0; nth < 12; nth++)
      await say(talk, `Number ${nth}. ${'x'.repeat(nth * 7)}`, {
        agent: nth % 3 === 0 ? 'scout' : 'lead',
        conversation: ref('main'),
        ...(nth % 5 === 4 ? { context: [`It snows ${nth}.`] } : {}),
      });
    await talk.cloister.close();
    const { conversation, newReader } = await looking(workspace);
    const entries = await newReader().entries(conversation);
    expect(entries.length).toBe(29);
    for (const bytesMax of [10, 120, 300, 500, 800, 1_200, 2_000, 5_000]) {
      const found = await newestEntries(conversation, bytesMax, newReader());
      const told = { conversation: 'main', context: ['Now.'], bytesMax };
      expect(historyFor({ ...told, ...found })).toEqual(historyFor({ ...told, entries }));
    }
  });

  test('is read of as many turns in a long conversation as in a short one', async () => {
    const workspace = newWorkspace();
    const talk = await openTalk({ workspace });
    const readFor = async (): Promise<number> => {
      const { conversation, reads, newReader } = await looking(workspace);
      await newestEntries(conversation, 400, newReader());
      return reads.length;
    };
    const sayMore = async (count: number): Promise<void> => {
      for (let nth = 0; nth < count; nth++) await say(talk, 'Always the same.');
      await talk.cloister.checkpoints.list();
    };
    await sayMore(10);
    const short = await readFor();
    expect(short).toBeLessThan(6);
    await sayMore(30);
    expect(await readFor()).toBe(short);
  });
});
