// Runs a server for a command until it is stopped.
//
//   serve-names-continuable-runs. However it is stopped, it prints the runs that can be continued, or the command that lists
//       them.
//   serve-stop-bounded. An immediate stop waits for nothing longer than `immediateStopMs`.
import { plural } from '#headends/run-view';
import type { CliSystem, RunningServer, ServeLine } from './cli-world.ts';
import type { CommandContext } from './define-command.ts';
import { exitCode } from './errors.ts';
import type { ExitCode } from './errors.ts';
import { describeStrayError } from './follow-run.ts';
import { cloisterCommand } from './next-commands.ts';
import { sanitizeLine } from './sanitize-text.ts';
import { serveLine, stoppingLine } from './server-lines.ts';

type ServerRun = {
  readonly json: boolean;
  /** Nothing is stored, so nothing can be continued. */
  readonly memory: boolean;
  readonly workspace: string;
  readonly graceMs: number;
  readonly start: (log: (line: ServeLine) => void) => Promise<RunningServer>;
  /** Prints where the server is. */
  readonly started: (service: RunningServer) => void;
  /** Which lines are printed. Default: all. */
  readonly prints?: (line: ServeLine) => boolean;
};

export const runServer = async (request: ServerRun, context: CommandContext): Promise<ExitCode> => {
  const { system, output, interrupts } = context;
  const { json, start, started, prints = () => true } = request;
  const asked = Promise.withResolvers<void>();
  interrupts.onFirst(asked.resolve);
  const log = (line: ServeLine): void => {
    if (!prints(line)) return;
    if (json) output.jsonLine(line);
    else output.err.print(serveLine(line, system.now(), output.err.paint));
  };
  const stopListening = system.onStrayError((error) => output.err.print(sanitizeLine(describeStrayError(error))));
  try {
    const service = await start(log);
    const { notes, inputEnded } = service;
    started(service);
    output.err.print(...notes.map((note) => `${output.err.paint('yellow', 'note:')} ${sanitizeLine(note)}`));
    await Promise.race([asked.promise, ...(inputEnded === null ? [] : [inputEnded])]);
    return await stopServing(service, request, context);
  } finally {
    stopListening();
  }
};

/** Opens the page. A token is in the fragment, which browsers send to nobody. */
export const studioLink = (url: string, token: string | null): string =>
  `${url}/${token === null ? '' : `#token=${token}`}`;

const immediateStopMs = 1_000;

const stopServing = async (service: RunningServer, request: ServerRun, context: CommandContext): Promise<ExitCode> => {
  const { system, output, interrupts } = context;
  const { graceMs, memory, workspace } = request;
  const immediate = Promise.withResolvers<'immediate'>();
  let isImmediate = false;
  // The next Ctrl-C does not end the command yet: it still prints the interrupted runs.
  interrupts.reset();
  interrupts.onFirst(() => {
    isImmediate = true;
    immediate.resolve('immediate');
  });
  output.err.print(stoppingLine(service.running(), graceMs));
  const stopCleanly = async (): Promise<void> => {
    const left = await service.stop(graceMs);
    if (isImmediate) return;
    if (left.length === 0 || memory) await service.close();
    else output.err.print(...unfinishedLines(left, workspace));
  };
  if ((await Promise.race([stopCleanly(), immediate.promise])) !== 'immediate') return exitCode.completed;

  if (!memory) output.err.print(...unfinishedLines(await stopNow(service, system), workspace));
  // A user who pressed Ctrl-C twice needs no message saying so.
  return exitCode.cancelled;
};

/** Null: finding out took too long. */
const stopNow = async (service: RunningServer, system: CliSystem): Promise<readonly string[] | null> => {
  const late = Promise.withResolvers<null>();
  const stop = system.timer(immediateStopMs, () => late.resolve(null));
  try {
    return await Promise.race([service.stop(0).catch(() => null), late.promise]);
  } finally {
    stop();
  }
};

const unfinishedLines = (left: readonly string[] | null, workspace: string): readonly string[] => {
  if (left === null)
    return ['Unfinished runs can be continued; list them with:', `  ${cloisterCommand('runs', workspace)}`];
  if (left.length === 0) return [];
  return [
    left.length === 1
      ? '1 run is unfinished. Continue it with:'
      : `${plural(left.length, 'run')} are unfinished. Continue them with:`,
    ...left.map((run) => `  ${cloisterCommand(`resume ${run}`, workspace)}`),
  ];
};
