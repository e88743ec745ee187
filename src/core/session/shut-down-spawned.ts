// Shuts down the agents that a session spawned: asks them to finish, then stops the rest. None is left running.
import type { CellId } from '#base';
import type { ChildOperation, PendingOperation, PostOperation } from '#contracts';
import type { Session } from './state.ts';

export const shutdownGraceMs = 5_000;

/** The agents that have not ended; none if the session itself was stopped, because they were stopped with it. */
export const openSpawned = ({ cell: { runtime } }: Session): readonly PendingOperation<ChildOperation>[] => {
  // probe: spawned-still-open
  const unsettled = runtime.spawnedChildren.flatMap(({ pending }) => (pending.settled === undefined ? [pending] : []));
  return runtime.isStopped ? [] : runtime.unsettled(unsettled);
};

export type ShutdownResult = {
  /** The agents that were asked to finish. */
  readonly asked: readonly CellId[];
  /** Those of them, and of those that had ended before, whose last words the session has not read. */
  readonly unheard: readonly CellId[];
};

/** Rejects if the session is stopped meanwhile, and its spawned agents with it. */
export const shutDownSpawned = async (session: Session): Promise<ShutdownResult> => {
  const { runtime, agent } = session.cell;
  let open: readonly PendingOperation[] = openSpawned(session);
  if (runtime.isStopped) return { asked: [], unheard: [] };
  const ended = runtime.spawnedChildren.flatMap(({ pending }) => (pending.settled === undefined ? [] : [pending]));
  const request = requestShutdown(session, open, ended);
  if (open.length === 0) return shutDownOf(await runtime.first([request]));
  const grace: PendingOperation = runtime.begin({
    do: 'sleep',
    ms: agent.children.spawns?.graceMs ?? shutdownGraceMs,
    why: 'time-out',
  });
  while (open.length > 0) {
    const settled: PendingOperation = await runtime.first([...open, ...(grace.settled === undefined ? [grace] : [])]);
    if (settled === grace) for (const pending of open) runtime.cancel(pending);
    else open = open.filter((pending) => pending !== settled);
  }
  if (grace.settled === undefined) runtime.cancel(grace);
  return shutDownOf(await runtime.first([request]));
};

const shutDownOf = ({ settled }: PendingOperation<PostOperation>): ShutdownResult =>
  settled?.ok === true ? (settled.value as unknown as ShutdownResult) : { asked: [], unheard: [] };

/** Idle agents end immediately; the others end when they have finished their current work. */
export const requestShutdown = (
  { cell }: Session,
  children: readonly PendingOperation[],
  ended: readonly PendingOperation[] = [],
): PendingOperation<PostOperation> => {
  return cell.runtime.begin({
    do: 'post',
    name: 'mail:close',
    request: { kind: 'close-children', children: cellsOf(children), ended: cellsOf(ended) },
  });
};

const cellsOf = (children: readonly PendingOperation[]): readonly CellId[] =>
  children.flatMap(({ operation }) => (operation.do === 'child' ? [operation.cell] : []));
