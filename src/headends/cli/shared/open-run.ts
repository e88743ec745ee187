// Opens a workspace to read it, or an existing run with the agents that it was started with.
import { CloisterError } from '#base';
import type { Cloister, RunSummary } from '#contracts';
import type { CommandContext } from './command-context.ts';
import type { ExistingRunRequest } from './request.ts';
import { resolveSummary } from './resolve-name.ts';

/** Finds the named run before any agent is loaded. Throws `run_format` if this build cannot read it. */
export const findNamedRun = async (
  { workspace, run }: ExistingRunRequest,
  context: CommandContext,
): Promise<RunSummary> => {
  await using cloister = await openToRead(workspace, context);
  // Awaited here: the workspace is closed when this returns.
  const summary = await resolveSummary(cloister, run);
  if (summary.unreadable !== undefined) throw new CloisterError('run_format', summary.unreadable);
  return summary;
};

/** Uses the given agents, or those recorded in the log of this run. */
export const openForRun = (
  { run }: Pick<RunSummary, 'run'>,
  { workspace, agents, config }: Omit<ExistingRunRequest, 'run'>,
  { world }: CommandContext,
  offline = false,
): Promise<Cloister> =>
  world.open({
    workspace,
    agents,
    demo: false,
    ...(agents.length === 0 ? { ofRun: run } : {}),
    ...(config === null ? {} : { config }),
    ...(offline ? { offline } : {}),
  });

/** Opens the workspace without agents: reading records needs none. */
export const openToRead = (workspace: string, { world }: CommandContext): Promise<Cloister> =>
  world.open({ workspace, agents: [], demo: false });

/** Lists from the workspace alone. An agent without records there must exist: it is found as `chat` finds it. */
export const listKnownConversations = async <T>(
  { workspace, agent }: { readonly workspace: string; readonly agent: string | null },
  context: CommandContext,
  list: (cloister: Cloister) => Promise<T>,
): Promise<T> => {
  await using cloister = await openToRead(workspace, context);
  try {
    return await list(cloister);
  } catch (error) {
    if (agent === null || !(error instanceof CloisterError) || error.code !== 'agent_unknown') throw error;
    await using other = await context.world.open({ workspace, agents: [], agent, demo: false, offline: true });
    if (other.agents.length === 0) throw error;
    return await list(other);
  }
};
