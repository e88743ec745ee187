// A command for a run that another process owns, or nobody: it is stored for whoever owns or resumes the run.
import { CloisterError } from '#base';
import { canBeSignalled } from '#contracts';
import type { Caller, Cloister, RunCommand, RunCommandName, RunCommandResults, RunSummary } from '#contracts';
import type { InterruptedRunResumer } from './interrupted-runs.ts';

type SignalPorts = {
  readonly cloister: Pick<Cloister, 'signal'>;
  readonly caller: Caller;
  readonly resumer: Pick<InterruptedRunResumer, 'resumeIfStarted'>;
};

/** Resolves when it is on disk. Rejects with `cell_ended` if the run has ended, or if only its own process can carry it out. */
export const signalRun = async <K extends RunCommandName>(
  { cloister, caller, resumer }: SignalPorts,
  { run, state }: RunSummary,
  command: RunCommand<K>,
): Promise<RunCommandResults[K]> => {
  if (state === 'ended' || !canBeSignalled[command.do])
    throw new CloisterError('cell_ended', `Run ${run} ${reasons[state]}`);
  const { id } = await cloister.signal(run, command as RunCommand, { by: caller.name });
  if (state === 'interrupted') resumer.resumeIfStarted();
  return (command.do === 'send' ? id : undefined) as RunCommandResults[K];
};

const reasons: Readonly<Record<RunSummary['state'], string>> = {
  ended: 'has ended.',
  running: 'is not running in this process: another one owns it.',
  waiting: 'is not running in this process.',
  interrupted: 'is not running in this process. Continue it with `resume`.',
  damaged: 'is not running in this process: it is damaged.',
};
