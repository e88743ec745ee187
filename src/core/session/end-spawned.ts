// The end of those whom a session has spawned: asked first, then stopped. None is left.
import type { Pending } from '#contracts';
import type { Session } from './state.ts';

export const graceDefaultMs = 5_000;

/** A session that is itself stopped has stopped them already. */
export const endSpawned = async (session: Session): Promise<void> => {
  const { home, agent } = session.cell;
  // probe: spawned-still-open
  const known = session.spawned.flatMap(({ pending }) => (pending.settled === undefined ? [pending] : []));
  let open = home.living(known);
  if (open.length === 0) return;
  try {
    askToEnd(session, open);
    const grace: Pending = home.begin({ do: 'sleep', ms: agent.spawns?.graceMs ?? graceDefaultMs, why: 'time-out' });
    while (open.length > 0) {
      const settled: Pending = await home.first([...open, ...(grace.settled === undefined ? [grace] : [])]);
      if (settled === grace) for (const pending of open) home.cancel(pending);
      else open = open.filter((pending) => pending !== settled);
    }
    if (grace.settled === undefined) home.cancel(grace);
  } catch {
    // Stopped meanwhile, and they with it.
  }
};

/** Those who wait come to an end at once, the others when they are done with what they do. */
export const askToEnd = ({ cell }: Session, children: readonly Pending[]): void => {
  const { home } = cell;
  const asked = children.flatMap(({ operation }) => (operation.do === 'child' ? [operation.cell] : []));
  home.begin({
    do: 'post',
    name: 'mail:close',
    decide: () => {
      for (const one of asked) home.host.post.directory.get(one)?.box.close();
      return { asked };
    },
  });
};
