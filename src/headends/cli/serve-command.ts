// `serve`: serves agents to clients until it is stopped; and `token`.
//
//   S1. However it is stopped, it prints the runs that can be continued, or the command that lists them.
//   S2. An immediate stop waits for nothing longer than `immediateStopMs`.
import type { CommandContext } from './shared/command-context.ts';
import { exitCode } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import { plural } from './shared/format-numbers.ts';
import { cloisterCommand } from './shared/next-commands.ts';
import type { Printer } from './shared/output.ts';
import type { ServeRequest, TokenRequest } from './shared/request.ts';
import { bannerLines, serveLine, stoppingLine } from './serve-lines.ts';
import type { ServeLine, RunningServer } from './shared/cli-world.ts';
import { describeStrayError } from './shared/follow-run.ts';
import { sanitizeLine } from './shared/sanitize-text.ts';

export const serveCommand = async (request: ServeRequest, context: CommandContext): Promise<ExitCode> => {
  const { world, output, interrupts } = context;
  const { json, stdio } = request;
  const asked = Promise.withResolvers<void>();
  interrupts.onFirst(asked.resolve);
  const log = (line: ServeLine): void => {
    if (json) output.jsonLine(line);
    else output.err.print(serveLine(line, world.now(), output.err.paint));
  };
  const stopListening = world.onStrayError((error) => output.err.print(sanitizeLine(describeStrayError(error))));
  try {
    const service = await world.serve(request, log);
    const { url, token, agents, notes, inputEnded } = service;
    // With --stdio-mcp, stdout belongs to the protocol.
    const printer: Printer = stdio ? output.err : output.out;
    if (json) output.jsonLine({ type: 'serving', url, token, agents: agents.map(({ name }) => name) });
    else printer.print(...bannerLines(service, printer.paint));
    output.err.print(...notes.map((note) => `${output.err.paint('yellow', 'note:')} ${sanitizeLine(note)}`));
    await Promise.race([asked.promise, ...(inputEnded === null ? [] : [inputEnded])]);
    return await stopServing(service, request, context);
  } finally {
    stopListening();
  }
};

const immediateStopMs = 1_000;

const stopServing = async (
  service: RunningServer,
  request: ServeRequest,
  context: CommandContext,
): Promise<ExitCode> => {
  const { world, output, interrupts } = context;
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

  if (!memory) output.err.print(...unfinishedLines(await stopNow(service, world), workspace));
  // A user who pressed Ctrl-C twice needs no message saying so.
  return exitCode.cancelled;
};

/** Null: finding out took too long. */
const stopNow = async (service: RunningServer, world: CommandContext['world']): Promise<readonly string[] | null> => {
  const late = Promise.withResolvers<null>();
  const stop = world.timer(immediateStopMs, () => late.resolve(null));
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

export const tokenCommand = async (
  { name, json }: TokenRequest,
  { world, output }: CommandContext,
): Promise<ExitCode> => {
  const { token, sha256 } = await world.makeToken(name);
  const entry = { name, sha256 };
  if (json) output.json({ token, entry });
  else
    output.out.print(
      `Token (shown only once): ${token}`,
      '',
      'Entry for the token file ({ "tokens": [ … ] }):',
      JSON.stringify(entry),
    );
  return exitCode.completed;
};
