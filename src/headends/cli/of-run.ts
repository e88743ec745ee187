// What works on a run that is already there, with the agents that it was started with.
import type { Cloister, RunSummary } from '#contracts';
import type { Desk } from './desk.ts';
import { openToRead } from './open-to-read.ts';
import type { OfRun } from './request.ts';
import { resolveSummary } from './resolve-name.ts';

/** The run that was named, before any agent is looked for. */
export const findRun = async ({ workspace, run }: OfRun, desk: Desk): Promise<RunSummary> => {
  await using cloister = await openToRead(workspace, desk);
  // Awaited here: the workspace is closed when this returns.
  return await resolveSummary(cloister, run);
};

/** With the agents that were given, or else with those that the log of this run names. */
export const openOfRun = (
  { run }: Pick<RunSummary, 'run'>,
  { workspace, agents, config }: Omit<OfRun, 'run'>,
  { world }: Desk,
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
