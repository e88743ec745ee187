// Takes a checkpoint: a cut through a run and through the other turns of its conversation, as a record in the workspace log.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Checkpoint, ConversationRef, RunEnd } from '#contracts';
import { conversationKey } from './workspace-state.ts';
import type { WorkspaceState } from './workspace-state.ts';
import type { ConversationPorts } from './conversation-ports.ts';
import { conversationExtent } from './conversation-extent.ts';
import { runStates } from './active-runs.ts';
import type { TurnNode } from './turn-chain.ts';

type CheckpointRequest = Pick<Checkpoint, 'why' | 'label'> & { readonly state: WorkspaceState };

/** Covers everything durable now. Rejects with `book_moved` when another process appended after `state` was read. */
export const takeCheckpoint = async (
  run: RunId,
  { why, label, state }: CheckpointRequest,
  ports: ConversationPorts,
): Promise<Checkpoint> => {
  const { store, clock, ids } = ports;
  // probe: checkpoint-durable
  await ports.durable(run);
  // probe: checkpoint-cut
  const { frames, hash } = await store.hashPrefix(run);
  const { node, conversation } = findTurn(run, state);
  const agent = node?.agent ?? (await readAgentName(run, ports));
  const found = conversation === null ? undefined : state.conversations.get(conversationKey(conversation));
  const stop = found === undefined ? null : await findStop(run, frames, ports);
  const extent = found && node ? await conversationExtent(found, node, { at: stop?.at ?? null, ports }) : {};
  const checkpoint: Checkpoint = {
    format: 1,
    id: ids.random(),
    agent,
    run,
    conversation,
    frames,
    hash,
    ...extent,
    ...(stop?.ended === undefined ? {} : { ended: stop.ended }),
    at: clock.now(),
    why,
    label,
  };
  await store.appendRecord({ type: 'checkpoint', checkpoint }, state.lastEntryNo);
  return checkpoint;
};

const findTurn = (
  run: RunId,
  { conversations }: WorkspaceState,
): { readonly node: TurnNode | undefined; readonly conversation: ConversationRef | null } => {
  for (const { ref, nodes } of conversations.values()) {
    const node = nodes.get(run);
    if (node !== undefined) return { node, conversation: ref };
  }
  return { node: undefined, conversation: null };
};

const readAgentName = async (run: RunId, { store }: ConversationPorts): Promise<string> => {
  const [first] = await store.read(run);
  if (first?.record.type === 'open') return first.record.birth.agent;
  throw new CloisterError('store_damaged', 'The log does not start with the start of a run.');
};

type RunStop = { readonly at: number; readonly ended?: RunEnd };

/** The time of the run's last frame, and how it ended; null while it is running, in which case its log is not read. */
const findStop = async (run: RunId, frames: number, { store, reader }: ConversationPorts): Promise<RunStop | null> => {
  const state = (await runStates(store, [run])).get(run)?.state;
  if (state === 'running') return null;
  if (state !== 'ended') return { at: (await store.read(run)).at(frames - 1)?.at ?? 0 };
  const end = await reader.findEnd(run);
  // The run may have ended after the cut.
  return end?.frames === frames ? { at: end.end.at, ended: end.end } : null;
};
