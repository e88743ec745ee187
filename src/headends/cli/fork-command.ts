// `fork`: a new run that keeps another's log up to an operation.
import type { ForkOptions } from '#contracts';
import type { CommandContext } from './shared/command-context.ts';
import type { ExitCode } from './shared/errors.ts';
import { followRun } from './shared/follow-run.ts';
import { openToRead, openForRun } from './shared/open-run.ts';
import type { ForkRequest } from './shared/request.ts';
import { resolveSummary } from './shared/resolve-name.ts';
import { resolvePlace } from './resolve-place.ts';

export const forkCommand = async (request: ForkRequest, context: CommandContext): Promise<ExitCode> => {
  const { found, at } = await findPlace(request, context);
  return followRun(
    {
      request,
      open: () => openForRun(found, request, context),
      begin: (cloister) => cloister.fork(found.run, optionsOf(request, at)),
      extraJson: () => ({ forkOf: { run: found.run, at } }),
      nextCommands: (fork) => [`diff ${found.run} ${fork}`],
    },
    context,
  );
};

/** Resolves the run and the place in it before any agent is loaded. */
const findPlace = async (request: ForkRequest, context: CommandContext) => {
  await using cloister = await openToRead(request.workspace, context);
  const found = await resolveSummary(cloister, request.run);
  return { found, at: resolvePlace(await cloister.show(found.run), request.at, await cloister.tasks(found.run)) };
};

const optionsOf = ({ model, withoutGrants, goal }: ForkRequest, at: string): ForkOptions => ({
  at,
  ...(model === null ? {} : { model }),
  ...(withoutGrants.length === 0 ? {} : { withoutGrants }),
  ...(goal === null ? {} : { goal }),
});
