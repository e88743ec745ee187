// What works on a run that is already there, with the agents that it was started with.
import type { Cloister, RunSummary } from '#contracts';
import type { CommandContext } from './command-context.ts';
import { openToRead } from './open-to-read.ts';
import type { ExistingRunRequest } from './request.ts';
import { resolveSummary } from './resolve-name.ts';

/** The run that was named, before any agent is looked for. */
export const findNamedRun = async (
  { workspace, run }: ExistingRunRequest,
  desk: CommandContext,
): Promise<RunSummary> => {
  await using cloister = await openToRead(workspace, desk);
  // Awaited here: the workspace is closed when this returns.
  return await resolveSummary(cloister, run);
};

/** With the agents that were given, or else with those that the log of this run names. */
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
