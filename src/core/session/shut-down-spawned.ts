// The end of those whom a session has spawned: asked first, then stopped. None is left.
import type { PendingOperation } from '#contracts';
import type { Session } from './state.ts';

export const shutdownGraceMs = 5_000;

/** A session that is itself stopped has stopped them already. */
export const shutDownSpawned = async (session: Session): Promise<void> => {
  const { runtime, agent } = session.cell;
  // probe: spawned-still-open
  const known = session.spawned.flatMap(({ pending }) => (pending.settled === undefined ? [pending] : []));
  let open = runtime.living(known);
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
    // Stopped meanwhile, and they with it.
  }
};

/** Those who wait come to an end at once, the others when they are done with what they do. */
export const requestShutdown = ({ cell }: Session, children: readonly PendingOperation[]): void => {
  const { runtime } = cell;
  const asked = children.flatMap(({ operation }) => (operation.do === 'child' ? [operation.cell] : []));
  runtime.begin({
    do: 'post',
    name: 'mail:close',
    decide: () => {
      for (const one of asked) runtime.liveRun.post.directory.get(one)?.box.close();
      return { asked };
    },
  });
};
