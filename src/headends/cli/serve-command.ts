// `serve`: agents behind other people's clients, until somebody stops it; and `token`.
//
//   S1. However it is stopped, runs that can be gone on with are named, or it is said where they are.
//   S2. Once it is stopped at once, nothing is waited for that could take longer than `firmMs`.
import type { CommandContext } from './command-context.ts';
import { exitCode } from './exit-code.ts';
import type { ExitCode } from './exit-code.ts';
import { plural } from './format-numbers.ts';
import { cloisterCommand } from './cloister-command.ts';
import type { Page } from './output.ts';
import type { ServeRequest, TokenRequest } from './request.ts';
import { bannerLines, serveLine, stoppingLine } from './serve-lines.ts';
import type { ServeLine, RunningServer } from './serve-world.ts';
import { strayWords } from './show-live-run.ts';
import { sanitizeLine } from './sanitize-text.ts';

export const serveCommand = async (request: ServeRequest, desk: CommandContext): Promise<ExitCode> => {
  const { world, output, interrupts } = desk;
  const { json, stdio } = request;
  const asked = Promise.withResolvers<void>();
  interrupts.orderly(asked.resolve);
  const log = (line: ServeLine): void => {
    if (json) output.jsonLine(line);
    else output.err.print(serveLine(line, world.now(), output.err.paint));
  };
  const deaf = world.onStrayError((error) => output.err.print(sanitizeLine(strayWords(error))));
  try {
    const serving = await world.serve(request, log);
    const { url, token, agents, notes, inputEnded } = serving;
    // Standard output belongs to the protocol.
    const page: Page = stdio ? output.err : output.out;
    if (json) output.jsonLine({ type: 'serving', url, token, agents: agents.map(({ name }) => name) });
    else page.print(...bannerLines(serving, page.paint));
    output.err.print(...notes.map((note) => `${output.err.paint('yellow', 'note:')} ${sanitizeLine(note)}`));
    await Promise.race([asked.promise, ...(inputEnded === null ? [] : [inputEnded])]);
    return await stopServing(serving, request, desk);
  } finally {
    deaf();
  }
};

const firmMs = 1_000;

const stopServing = async (serving: RunningServer, request: ServeRequest, desk: CommandContext): Promise<ExitCode> => {
  const { world, output, interrupts } = desk;
  const { graceMs, memory, workspace } = request;
  const firm = Promise.withResolvers<'at once'>();
  let isFirm = false;
  // The next one is not the end of the command: it still says what was cut off.
  interrupts.again();
  interrupts.orderly(() => {
    isFirm = true;
    firm.resolve('at once');
  });
  output.err.print(stoppingLine(serving.running(), graceMs));
  const inOrder = async (): Promise<void> => {
    const left = await serving.stop(graceMs);
    if (isFirm) return;
    if (left.length === 0 || memory) await serving.close();
    else output.err.print(...leftLines(left, workspace));
  };
  if ((await Promise.race([inOrder(), firm.promise])) !== 'at once') return exitCode.completed;

  if (!memory) output.err.print(...leftLines(await leftNow(serving, world), workspace));
  // Whoever pressed it twice knows that it was cancelled.
  return exitCode.cancelled;
};

/** Null: it took too long to find out. */
const leftNow = async (serving: RunningServer, world: CommandContext['world']): Promise<readonly string[] | null> => {
  const late = Promise.withResolvers<null>();
  const stop = world.timer(firmMs, () => late.resolve(null));
  try {
    return await Promise.race([serving.stop(0).catch(() => null), late.promise]);
  } finally {
    stop();
  }
};

const leftLines = (left: readonly string[] | null, workspace: string): readonly string[] => {
  if (left === null)
    return ['What had not ended is listed, and can be gone on with:', `  ${cloisterCommand('runs', workspace)}`];
  if (left.length === 0) return [];
  return [
    `${plural(left.length, 'run')} had not ended, and can be gone on with:`,
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
      `The token, shown once: ${token}`,
      '',
      'Its entry in a token file ({ "tokens": [ … ] }):',
      JSON.stringify(entry),
    );
  return exitCode.completed;
};
