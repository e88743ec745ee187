// Opens a workspace to read it, or an existing run with the agents that it was started with.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Cloister, RunSummary } from '#contracts';
import type { CliRuntime } from './cli-world.ts';
import { resolveSummary } from './resolve-name.ts';

/** Opens the workspace without agents: reading records needs none. */
export const openToRead = (workspace: string, { open }: Pick<CliRuntime, 'open'>): Promise<Cloister> =>
  open({ workspace, agents: [] });

/** Finds the named run before any agent is loaded. Throws `run_format` if this build cannot read it. */
export const findNamedRun = async (
  { workspace, run }: { readonly workspace: string; readonly run: string },
  runtime: Pick<CliRuntime, 'open'>,
): Promise<RunSummary> => {
  await using cloister = await openToRead(workspace, runtime);
  // Awaited here: the workspace is closed when this returns.
  const summary = await resolveSummary(cloister, run);
  if (summary.unreadable !== undefined) throw new CloisterError('run_format', summary.unreadable);
  return summary;
};

type RunAgents = {
  readonly workspace: string;
  readonly agents: readonly string[];
  readonly config: string | null;
  readonly offline?: boolean;
};

/** Uses the given agents, or those recorded in the log of this run. */
export const openForRun = (
  run: RunId,
  { workspace, agents, config, offline = false }: RunAgents,
  { open }: Pick<CliRuntime, 'open'>,
): Promise<Cloister> => open({ workspace, agents, config, offline, ...(agents.length === 0 ? { ofRun: run } : {}) });

/** Lists from the workspace alone. An agent without records there must exist: it is found as `chat` finds it. */
export const listKnownConversations = async <T>(
  { workspace, agent }: { readonly workspace: string; readonly agent: string | null },
  runtime: Pick<CliRuntime, 'open'>,
  list: (cloister: Cloister) => Promise<T>,
): Promise<T> => {
  await using cloister = await openToRead(workspace, runtime);
  try {
    return await list(cloister);
  } catch (error) {
    if (agent === null || !(error instanceof CloisterError) || error.code !== 'agent_unknown') throw error;
    await using other = await runtime.open({ workspace, agents: [], agent, offline: true });
    if (other.agents.length === 0) throw error;
    return await list(other);
  }
};
