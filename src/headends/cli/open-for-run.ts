// Opens an existing run with the agents that it was started with.
import { CloisterError } from '#base';
import type { Cloister, RunSummary } from '#contracts';
import type { CommandContext } from './command-context.ts';
import { openToRead } from './open-to-read.ts';
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
