// A cut through a run, and through what others say in its conversation at the same time, as a page of the book.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Checkpoint, ConversationRef, RunEnd } from '#contracts';
import { conversationKey } from './workspace-state.ts';
import type { WorkspaceState } from './workspace-state.ts';
import type { ConversationPorts } from './conversation-ports.ts';
import { conversationExtent } from './conversation-extent.ts';
import { runStates } from './active-runs.ts';
import type { TurnNode } from './turn-chain.ts';

export type CheckpointRequest = Pick<Checkpoint, 'why' | 'label'> & { readonly state: WorkspaceState };

/** Of all that is durable of it now. Rejects with `book_moved` when others wrote since `state` was read. */
export const takeCheckpoint = async (
  run: RunId,
  { why, label, state }: CheckpointRequest,
  keeping: ConversationPorts,
): Promise<Checkpoint> => {
  const { store, clock, ids } = keeping;
  // probe: checkpoint-durable
  await keeping.durable(run);
  // probe: checkpoint-cut
  const { frames, hash } = await store.hashPrefix(run);
  const { node, conversation } = nodeOf(run, state);
  const agent = node?.agent ?? (await agentOf(run, keeping));
  const found = conversation === null ? undefined : state.conversations.get(conversationKey(conversation));
  const still = found === undefined ? null : await stillSince(run, frames, keeping);
  const reach = found && node ? await conversationExtent(found, node, { at: still?.at ?? null, keeping }) : {};
  const checkpoint: Checkpoint = {
    format: 1,
    id: ids.random(),
    agent,
    run,
    conversation,
    frames,
    hash,
    ...reach,
    ...(still?.ended === undefined ? {} : { ended: still.ended }),
    at: clock.now(),
    why,
    label,
  };
  await store.appendRecord({ type: 'checkpoint', checkpoint }, state.page);
  return checkpoint;
};

const nodeOf = (
  run: RunId,
  { conversations }: WorkspaceState,
): { readonly node: TurnNode | undefined; readonly conversation: ConversationRef | null } => {
  for (const { ref, nodes } of conversations.values()) {
    const node = nodes.get(run);
    if (node !== undefined) return { node, conversation: ref };
  }
  return { node: undefined, conversation: null };
};

const agentOf = async (run: RunId, { store }: ConversationPorts): Promise<string> => {
  const [first] = await store.read(run);
  if (first?.record.type === 'open') return first.record.birth.agent;
  throw new CloisterError('store_damaged', 'The log does not begin with the start of a run.');
};

type Still = { readonly at: number; readonly ended?: RunEnd };

/** When the run recorded its last frame, and how it ended; null while it goes on: then nothing of it is read. */
const stillSince = async (run: RunId, frames: number, { store, reader }: ConversationPorts): Promise<Still | null> => {
  const state = (await runStates(store, [run])).get(run)?.state;
  if (state === 'running') return null;
  if (state !== 'ended') return { at: (await store.read(run)).at(frames - 1)?.at ?? 0 };
  const end = await reader.endOf(run);
  // It may have ended since the cut.
  return end?.frames === frames ? { at: end.end.at, ended: end.end } : null;
};
