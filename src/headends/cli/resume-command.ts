// `resume`: goes on with an interrupted run.
import { CloisterError } from '#base';
import type { RunSummary } from '#contracts';
import type { CommandContext } from './command-context.ts';
import type { ExitCode } from './exit-code.ts';
import { dateTime } from './format-numbers.ts';
import { followRun } from './follow-run.ts';
import { findNamedRun, openForRun } from './open-for-run.ts';
import { openToRead } from './open-to-read.ts';
import { cloisterCommand } from './cloister-command.ts';
import type { ResumeRequest } from './request.ts';

export const resumeCommand = async (request: ResumeRequest, desk: CommandContext): Promise<ExitCode> => {
  const found = await findNamedRun(request, desk);
  if (found.state === 'damaged') await sayWhatIsMissing(found, request, desk);
  checkInterrupted(found, request);
  return followRun(
    {
      request,
      open: () => openForRun(found, request, desk),
      begin: (cloister) => cloister.resume(found.run, { takeOver: request.takeOver }),
    },
    desk,
  );
};

/** Throws `store_damaged`, naming the records. Nothing is written for that. */
const sayWhatIsMissing = async (
  { run }: RunSummary,
  { workspace }: ResumeRequest,
  desk: CommandContext,
): Promise<void> => {
  await using cloister = await openToRead(workspace, desk);
  await cloister.show(run);
};

/** Said before agents are looked for: what is wrong with those does not matter then. */
const checkInterrupted = (found: RunSummary, { takeOver, workspace }: ResumeRequest): void => {
  const { run, state, status, endedAt, owner, elsewhere = false } = found;
  if (state === 'ended')
    throw new CloisterError(
      'run_ended',
      `${run}: ${status ?? 'over'}${endedAt === null ? '' : `, ${dateTime(endedAt)}`}.`,
    );
  if (state !== 'running' || (elsewhere && takeOver)) return;
  const instead = elsewhere ? ` If it does not: ${cloisterCommand(`resume ${run} --take-over`, workspace)}` : '';
  throw new CloisterError('run_owned', `${run}: ${owner ?? 'a process that lives'}.${instead}`);
};
