// The order of the history, whatever clocks do; and that no process resumes an earlier turn while the next one begins.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defineAgent } from 'cloister';
import { memoryStore } from '#adapters/stores';
import type { Hash, RunId } from '#base';
import type { WorkspaceRecord, Checkpoint, Entry } from '#contracts';
import { foldWorkspaceLog, conversationKey } from '../../src/app/conversations/workspace-state.ts';
import { orderEntries } from '../../src/app/conversations/entries.ts';
import { checkMayReadConversation, checkMayResumeRun } from '../../src/app/conversations/build-history.ts';
import { RunLocks } from '../../src/app/conversations/active-runs.ts';
import { beginTurn } from '../../src/app/conversations/begin-turn.ts';
import { EntryReader } from '../../src/app/conversations/entry-reader.ts';
import { conversationExtent } from '#testing/app/conversations';
import type { ConversationPorts } from '../../src/app/conversations/conversation-ports.ts';

const entry = (run: string, no: number, at: number, agent: string): Entry => ({
  id: `${run}/${no}`,
  agent_id: no === 1 ? 'person' : agent,
  recipient_id: no === 1 ? agent : 'person',
  message_type: no === 1 ? 'message' : 'result',
  category: 'DIALOG',
  correlation: run as RunId,
  at,
  text: `${run} ${no}`,
});

const turns = fc
  .array(fc.record({ at: fc.nat(1_000), lasts: fc.nat(500), agent: fc.constantFrom('lead', 'scout') }), {
    maxLength: 8,
  })
  .map((all) =>
    all.map(({ at, lasts, agent }, index) => [
      entry(`r${index}`, 1, at, agent),
      entry(`r${index}`, 2, at + lasts, agent),
    ]),
  );

test('the turns of one agent stay in workspace-log order, and no turn is placed before an earlier one', () => {
  fc.assert(
    fc.property(turns, (all) => {
      const ids = orderEntries([], all).map(({ id }) => id);
      expect(ids.toSorted()).toEqual(
        all
          .flat()
          .map(({ id }) => id)
          .toSorted(),
      );
      for (const agent of ['lead', 'scout']) {
        const own = all.filter(([asked]) => asked?.recipient_id === agent).flatMap((turn) => turn.map(({ id }) => id));
        expect(ids.filter((id) => own.includes(id))).toEqual(own);
      }
      const begun = all.map(([asked]) => asked!.id);
      expect(ids.filter((id) => begun.includes(id))).toEqual(begun);
    }),
  );
});

test('where clocks run forwards, the history is in order of time', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(100), { maxLength: 6 }), (gaps) => {
      let at = 0;
      const all = gaps.map((gap, index) => {
        at += gap;
        // The other agent answers while this one is working.
        const agent = index % 2 === 0 ? 'lead' : 'scout';
        return [entry(`r${index}`, 1, at, agent), entry(`r${index}`, 2, at + (gaps[index + 1] ?? 0), agent)];
      });
      const times = orderEntries([], all).map((one) => one.at);
      expect(times).toEqual(times.toSorted((one, other) => one - other));
    }),
  );
});

// invariant: checkpoint-turns-ordered
test('a turn that is over stopped before the next one of its agent began, even if the clock was set back since', async () => {
  const conversation = { agent: 'lead', name: 'main' };
  const [first, second] = ['first' as RunId, 'second' as RunId];
  const { conversations } = foldWorkspaceLog([
    { no: 0, at: 100, record: { type: 'turn', conversation, agent: 'lead', run: first } },
    { no: 1, at: 50, record: { type: 'turn', conversation, agent: 'lead', run: second } },
  ]);
  const found = conversations.get(conversationKey(conversation))!;
  const ports = { reader: { framesUntil: async () => null } } as unknown as ConversationPorts;
  const extent = await conversationExtent(found, found.nodes.get(first)!, { at: 110, ports });
  expect(extent).toEqual({ newest: first });
});

test('a run that a branch began with can be resumed by its agent, which may take no other turn there', () => {
  const [conversation, branch] = [
    { agent: 'lead', name: 'main' },
    { agent: 'lead', name: 'other' },
  ];
  const [run, next] = ['scouts' as RunId, 'next' as RunId];
  const checkpoint: Checkpoint = {
    format: 1,
    id: 'cut',
    agent: 'scout',
    run,
    conversation,
    frames: 3,
    hash: '' as Hash,
    at: 0,
    why: 'asked',
    label: '',
  };
  const records: readonly WorkspaceRecord[] = [
    { type: 'turn', conversation, agent: 'lead', run: 'leads' as RunId },
    { type: 'attach', conversation, agent: 'scout' },
    { type: 'turn', conversation, agent: 'scout', run },
    { type: 'checkpoint', checkpoint },
    { type: 'branch', checkpoint: 'cut', conversation: branch, entries: null, run: next },
  ];
  const { conversations } = foldWorkspaceLog(records.map((record, no) => ({ no, at: no, record })));
  const found = conversations.get(conversationKey(branch))!;
  const scout = defineAgent({ name: 'scout', description: 'Scouts.', prompt: 'Scout.' });
  expect(() => checkMayResumeRun(found, found.nodes.get(next)!, scout)).not.toThrow();
  expect(() => checkMayReadConversation(found, scout)).toThrow(
    expect.objectContaining({ code: 'conversation_refused' }),
  );
  const other = { ...found.nodes.get(next)!, previous: found.nodes.get(next)! };
  expect(() => checkMayResumeRun(found, other, scout)).toThrow(
    expect.objectContaining({ code: 'conversation_refused' }),
  );
});

// invariant: conversation-one-turn-at-a-time
test('an interrupted turn is locked until the next turn has its record, and then released', async () => {
  const store = memoryStore();
  const run = 'interrupted' as RunId;
  const conversation = { agent: 'lead', name: 'main' };
  const pages = [{ no: 0, at: 0, record: { type: 'turn', conversation, agent: 'lead', run } as const }];
  const [found] = foldWorkspaceLog(pages).conversations.values();
  const held = new RunLocks(store);
  await held.acquire(found!, () => true);
  await held.acquire(found!, () => true);
  await expect(store.acquireRun(run)).rejects.toMatchObject({ code: 'run_owned' });
  await expect(new RunLocks(store).acquire(found!, () => true)).rejects.toMatchObject({ code: 'conversation_busy' });
  await held.release();
  const log = await store.acquireRun(run);
  await expect(new RunLocks(store).acquire(found!, () => true)).rejects.toMatchObject({ code: 'conversation_busy' });
  await log.close();
});

// invariant: same-key-same-run
test('a request that is sent again finds its own run taken, not the conversation busy, and takes its turn after a crash', async () => {
  const store = memoryStore();
  const agent = defineAgent({ name: 'lead', description: 'Leads.', prompt: 'Lead.' });
  const ports = { store, reader: new EntryReader(store) } as unknown as ConversationPorts;
  const conversation = { agent: 'lead', name: 'main' };
  const request = { agent, conversation, context: [], bytesMax: 1_000, run: 'keyed' as RunId, isOnly: true };
  const first = await beginTurn(request, ports);
  await expect(beginTurn(request, ports)).rejects.toMatchObject({ code: 'run_owned' });
  await expect(beginTurn({ ...request, run: 'other' as RunId }, ports)).rejects.toMatchObject({
    code: 'conversation_busy',
  });
  // A process that dies here has recorded the turn, and nothing of its run.
  await first.log.close();
  const again = await beginTurn(request, ports);
  await again.log.close();
  expect(await store.readWorkspaceLog()).toHaveLength(1);
});
