// A command for a run that another process owns, or nobody: it is stored for whoever owns or resumes the run.
//
//   asked-to-end-ends. A run that nobody works on, and that is asked to end, continues here to do so, or its caller is told that it cannot.
import { CloisterError } from '#base';
import { canBeSignalled } from '#contracts';
import type { Caller, Clock, Cloister, RunCommand, RunCommandName, RunCommandResults, RunSummary } from '#contracts';
import { isGone } from './interrupted-runs.ts';
import type { InterruptedRunResumer } from './interrupted-runs.ts';

type SignalPorts = {
  readonly cloister: Pick<Cloister, 'signal'>;
  readonly clock: Clock;
  readonly caller: Caller;
  readonly resumer: Pick<InterruptedRunResumer, 'resumeIfStarted' | 'noteFailure'>;
  /** Continues the run here, without anybody who reads it. */
  readonly resume: () => Promise<unknown>;
};

/**
 * Resolves when it is on disk. Rejects with `cell_ended` if the run has ended, if only its own process can carry it out, or if it is asked to
 * end and cannot continue.
 */
export const signalRun = async <K extends RunCommandName>(
  ports: SignalPorts,
  { run, state }: RunSummary,
  command: RunCommand<K>,
): Promise<RunCommandResults[K]> => {
  if (state === 'ended' || !canBeSignalled[command.do])
    throw new CloisterError('cell_ended', `Run ${run} ${reasons[state]}`);
  const { cloister, caller, resumer } = ports;
  const { id } = await cloister.signal(run, command as RunCommand, { by: caller.name });
  if (state === 'interrupted') {
    if (asksToEnd(command as RunCommand)) await continueToEnd(ports, run);
    else resumer.resumeIfStarted();
  }
  return (command.do === 'send' ? id : undefined) as RunCommandResults[K];
};

const asksToEnd = (command: RunCommand): boolean =>
  command.do === 'cancel' || (command.do === 'finish' && command.name === undefined);

/** It may have to wait for a slot, so its caller does not wait for long. */
const continueToEnd = async ({ clock, resume, resumer }: SignalPorts, run: string): Promise<void> => {
  const late = Promise.withResolvers<null>();
  const stopTimer = clock.timer(resumeWaitMs, () => late.resolve(null));
  const resumed = resume().then(
    () => null,
    (error: unknown) => error,
  );
  const failure = await Promise.race([resumed, late.promise]);
  stopTimer();
  if (failure === null) return;
  const code = failure instanceof CloisterError ? failure.code : 'defect';
  if (isGone(code)) return;
  // What was asked is on disk, and is carried out then.
  if (resumer.noteFailure(failure)) return;
  const advice = `It ends when a server that can continue it does so; DELETE /v1/runs/${run}?force=true deletes it.`;
  throw new CloisterError('cell_ended', `Run ${run} is interrupted, and cannot continue here (${code}). ${advice}`);
};

const resumeWaitMs = 2_000;

const reasons: Readonly<Record<RunSummary['state'], string>> = {
  ended: 'has ended.',
  running: 'is not running in this process: another one owns it.',
  waiting: 'is not running in this process.',
  interrupted: 'is not running in this process. Continue it with `resume`.',
  damaged: 'is not running in this process: it is damaged.',
};
