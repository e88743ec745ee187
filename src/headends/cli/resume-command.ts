// `resume`: continues an interrupted run.
import { CloisterError } from '#base';
import type { RunSummary } from '#contracts';
import type { CommandContext } from './shared/command-context.ts';
import type { ExitCode } from './shared/errors.ts';
import { dateTime } from './shared/format-numbers.ts';
import { followRun } from './shared/follow-run.ts';
import { findNamedRun, openForRun, openToRead } from './shared/open-run.ts';
import { cloisterCommand } from './shared/next-commands.ts';
import type { ResumeRequest } from './shared/request.ts';

export const resumeCommand = async (request: ResumeRequest, context: CommandContext): Promise<ExitCode> => {
  const found = await findNamedRun(request, context);
  if (found.state === 'damaged') await sayWhatIsMissing(found, request, context);
  checkInterrupted(found, request);
  return followRun(
    {
      request,
      open: () => openForRun(found, request, context),
      begin: (cloister) => cloister.resume(found.run, { takeOver: request.takeOver }),
    },
    context,
  );
};

/** Throws `store_damaged`, naming the records. Writes nothing. */
const sayWhatIsMissing = async (
  { run }: RunSummary,
  { workspace }: ResumeRequest,
  context: CommandContext,
): Promise<void> => {
  await using cloister = await openToRead(workspace, context);
  await cloister.show(run);
};

/** Checked before agents are loaded: problems in agent files do not matter for a run that cannot be resumed. */
const checkInterrupted = (found: RunSummary, { takeOver, workspace }: ResumeRequest): void => {
  const { run, state, status, endedAt, owner, elsewhere = false } = found;
  if (state === 'ended')
    throw new CloisterError(
      'run_ended',
      `${run}: ${status ?? 'over'}${endedAt === null ? '' : `, ${dateTime(endedAt)}`}.`,
    );
  if (state !== 'running' || (elsewhere && takeOver)) return;
  const instead = elsewhere
    ? ` If that process is dead: ${cloisterCommand(`resume ${run} --take-over`, workspace)}`
    : '';
  throw new CloisterError('run_owned', `Run ${run} is owned by ${owner ?? 'a live process'}.${instead}`);
};
