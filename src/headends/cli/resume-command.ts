// `resume`: goes on with an interrupted run.
import { CloisterError } from '#base';
import type { RunSummary } from '#contracts';
import type { Desk } from './desk.ts';
import type { ExitCode } from './exit-code.ts';
import { dateTime } from './figures.ts';
import { followRun } from './follow-run.ts';
import { findRun, openOfRun } from './of-run.ts';
import type { ResumeRequest } from './request.ts';

export const resumeCommand = async (request: ResumeRequest, desk: Desk): Promise<ExitCode> => {
  const found = await findRun(request, desk);
  checkInterrupted(found);
  return followRun(
    {
      request,
      open: () => openOfRun(found, request, desk),
      begin: (cloister) => cloister.resume(found.run),
    },
    desk,
  );
};

/** Said before agents are looked for: what is wrong with those does not matter then. */
const checkInterrupted = ({ run, state, status, endedAt, owner }: RunSummary): void => {
  if (state === 'ended')
    throw new CloisterError(
      'run_ended',
      `${run}: ${status ?? 'over'}${endedAt === null ? '' : `, ${dateTime(endedAt)}`}.`,
    );
  if (state === 'running') throw new CloisterError('run_owned', `${run}: ${owner ?? 'a process that lives'}.`);
};
