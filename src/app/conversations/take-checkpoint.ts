// Takes a checkpoint: a cut through a run and through the other turns of its conversation, as a record in the workspace log.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Checkpoint, ConversationRef, RunEnd } from '#contracts';
import { runStates, isTurnOver, countFrames } from './active-runs.ts';
import type { ConversationPorts } from './conversation-ports.ts';
import { chainWith } from './entries.ts';
import type { TurnNode } from './entries.ts';
import { conversationKey } from './workspace-state.ts';
import type { WorkspaceState, ConversationState } from './workspace-state.ts';

type CheckpointRequest = Pick<Checkpoint, 'why' | 'label'> & {
  readonly state: WorkspaceState;
  /** Cuts the run before its first operation. */
  readonly atStart?: boolean;
};

/** Covers everything durable now. Rejects with `book_moved` when another process appended after `state` was read. */
export const takeCheckpoint = async (
  run: RunId,
  { why, label, state, atStart = false }: CheckpointRequest,
  ports: ConversationPorts,
): Promise<Checkpoint> => {
  const { store, clock, ids } = ports;
  // probe: checkpoint-durable
  await ports.durable(run);
  // probe: checkpoint-cut
  const { frames, hash } = await (atStart ? store.hashPrefix(run, startFrames) : store.hashPrefix(run));
  const { node, conversation } = findTurn(run, state);
  const agent = node?.agent ?? (await readAgentName(run, ports));
  const found = conversation === null ? undefined : state.conversations.get(conversationKey(conversation));
  const stop = found === undefined ? null : await (atStart ? findStart(run, ports) : findStop(run, frames, ports));
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

/** The first record opens the run, with everything that crossed into it. */
const startFrames = 1;

const findStart = async (run: RunId, { store }: ConversationPorts): Promise<RunStop> => ({
  at: (await store.read(run))[0]?.at ?? 0,
});

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

// How far a conversation had progressed when a checkpoint of one of its turns was taken.
//
//   checkpoint-cut-is-now. A running run is cut now. A run that is not running is cut at its last record: what other agents
//       said later is not part of the checkpoint.
//   checkpoint-turns-ordered. An agent takes one turn at a time: its next turn began after this one stopped, whatever the
//       clock says.
type ConversationExtent = Pick<Checkpoint, 'newest' | 'others'>;

/** `at`: the time of the run's last record; null: the run is running. */
export const conversationExtent = async (
  found: ConversationState,
  node: TurnNode,
  { at, ports }: { readonly at: number | null; readonly ports: ConversationPorts },
): Promise<ConversationExtent> => {
  const chain = chainWith(node, found.newest);
  const index = chain.findIndex(({ run }) => run === node.run);
  const started =
    at === null ? chain : [...chain.slice(0, index + 1), ...turnsStartedBy(chain.slice(index + 1), node.agent, at)];
  const open = started.filter((turn) => turn.run !== node.run && turn.frames === null && !hadEnded(turn, found, at));
  const others = at === null ? await progressNow(found, open, ports) : await progressAt(open, at, ports);
  return {
    ...(started.length === chain.length ? {} : { newest: started.at(-1)!.run }),
    ...(others.length === 0 ? {} : { others }),
  };
};

const turnsStartedBy = (later: readonly TurnNode[], agent: string, at: number): readonly TurnNode[] => {
  const end = later.findIndex((turn) => turn.agent === agent || turn.at > at);
  return end < 0 ? later : later.slice(0, end);
};

const hadEnded = ({ run }: TurnNode, { ended }: ConversationState, at: number | null): boolean => {
  const end = ended.get(run);
  return end !== undefined && (at === null || end.at <= at);
};

type Others = NonNullable<Checkpoint['others']>;

const progressNow = (
  found: ConversationState,
  open: readonly TurnNode[],
  ports: ConversationPorts,
): Promise<Others> => {
  const { store, reader } = ports;
  return countFrames(
    store,
    open.flatMap(({ run }) => (isTurnOver(found, run, reader) ? [] : [run])),
  );
};

const progressAt = async (open: readonly TurnNode[], at: number, { reader }: ConversationPorts): Promise<Others> => {
  const others: { readonly run: TurnNode['run']; readonly frames: number }[] = [];
  for (const { run } of open) {
    const frames = await reader.framesUntil(run, at);
    if (frames !== null) others.push({ run, frames });
  }
  return others;
};
