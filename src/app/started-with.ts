import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { StartedWith } from '#contracts';
import { openSqliteStore } from '#adapters/stores';

/** The agents, config and folder that a run was started with, as the first record of its log says. */
export const startedWith = async (workspace: string, run: string): Promise<StartedWith> => {
  const store = await openSqliteStore(workspace);
  try {
    const [first] = await store.read(run as RunId);
    const started = first?.record.type === 'open' ? first.record.started : undefined;
    if (started !== undefined) return started;
  } finally {
    await store.close();
  }
  throw new CloisterError(
    'agent_unknown',
    `Run ${run} was started by a program, with agents of its own: name the files with --agents.`,
  );
};
