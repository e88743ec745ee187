// Shuts down the agents that a session spawned: asks them to finish, then stops the rest. None is left running.
import type { PendingOperation } from '#contracts';
import type { Session } from './state.ts';

export const shutdownGraceMs = 5_000;

/** If the session itself was stopped, its spawned agents already were too. */
export const shutDownSpawned = async (session: Session): Promise<void> => {
  const { runtime, agent } = session.cell;
  // probe: spawned-still-open
  const unsettled = session.spawnedChildren.flatMap(({ pending }) => (pending.settled === undefined ? [pending] : []));
  let open = runtime.stillRunning(unsettled);
  if (open.length === 0) return;
  try {
    requestShutdown(session, open);
    const grace: PendingOperation = runtime.begin({
      do: 'sleep',
      ms: agent.spawns?.graceMs ?? shutdownGraceMs,
      why: 'time-out',
    });
    while (open.length > 0) {
      const settled: PendingOperation = await runtime.first([...open, ...(grace.settled === undefined ? [grace] : [])]);
      if (settled === grace) for (const pending of open) runtime.cancel(pending);
      else open = open.filter((pending) => pending !== settled);
    }
    if (grace.settled === undefined) runtime.cancel(grace);
  } catch {
    // The session was stopped meanwhile, and its spawned agents with it.
  }
};

/** Idle agents end immediately; the others end when they have finished their current work. */
export const requestShutdown = ({ cell }: Session, children: readonly PendingOperation[]): void => {
  const { runtime } = cell;
  const asked = children.flatMap(({ operation }) => (operation.do === 'child' ? [operation.cell] : []));
  runtime.begin({
    do: 'post',
    name: 'mail:close',
    decide: () => {
      for (const one of asked) runtime.liveRun.mail.directory.get(one)?.mailbox.close();
      return { asked };
    },
  });
};
