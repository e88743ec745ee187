// The command line: arguments in, lines and an exit code out.
//
//   json-exactly-one-value. With --json, stdout gets exactly one JSON value, whatever happens; a chat prints one per message,
//       a server one per request and one per run, each on its own line.
//   terminal-text-sanitized. Foreign text reaches a terminal only after `sanitize-text.ts` has sanitized it.
//   command-restores-terminal. However a command ends, it restores the terminal and returns one exit code.
import { CloisterError } from '#base';
import { openParser } from './parse-args.ts';
import type { ParsedArgs } from './parse-args.ts';
import type { CliRuntime, CliWorld } from './shared/cli-world.ts';
import { errorLines, errorValue, exitOfError, UsageError } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import { watchInterrupts } from './shared/interrupts.ts';
import { openOutput } from './shared/output.ts';
import type { Output } from './shared/output.ts';
import { sanitizeBlock, sanitizeLine } from './shared/sanitize-text.ts';

/** Never rejects. */
export const runCli = async (args: readonly string[], world: CliWorld): Promise<number> => {
  const output = openOutput(world.terminal);
  const interrupts = watchInterrupts(world.system);
  let errorFormat: ErrorFormat = { json: 'none', verbose: false };
  const leaveImmediately = async (): Promise<ExitCode> => {
    await interrupts.immediateStop;
    interrupts.leave();
    const code = reportFailure(new CloisterError('cancelled'), errorFormat, output);
    output.mute();
    return code;
  };
  const runToEnd = async (): Promise<ExitCode> => {
    try {
      const parser = await openParser(args, world);
      errorFormat = parser.onError;
      const parsed = parser.parse();
      errorFormat = parsed;
      if (parsed.store !== null) world.runtime.useStore(parsed.store);
      return await parsed.run({ ...world, runtime: withNotices(world.runtime, output), output, interrupts });
    } catch (error) {
      return reportFailure(error, errorFormat, output);
    }
  };
  try {
    return await Promise.race([runToEnd(), leaveImmediately()]);
  } finally {
    interrupts.close();
  }
};

/** Prints what a command should know about its workspace, once. */
const withNotices = (runtime: CliRuntime, { err }: Output): CliRuntime => {
  const printed = new Set<string>();
  const notice = (text: string): void => {
    if (!printed.has(text)) err.print(`${err.paint('yellow', 'warning:')} ${sanitizeLine(text)}`);
    printed.add(text);
  };
  return { ...runtime, open: (options) => runtime.open({ ...options, notice }) };
};

type ErrorFormat = Pick<ParsedArgs, 'json' | 'verbose'>;

const reportFailure = (error: unknown, { json, verbose }: ErrorFormat, output: Output): ExitCode => {
  const value = errorValue(error);
  const { err } = output;
  const printed = json === 'value' && output.json({ error: value });
  if (json === 'line') output.jsonLine({ error: value });
  else if (error instanceof UsageError && error.help !== null && !printed) err.print(sanitizeBlock(error.help));
  else if (!printed)
    err.print(...errorLines(value).map((line) => line.replace(/^error:/u, err.paint('red', 'error:'))));
  if (verbose && error instanceof Error && error.stack !== undefined) err.print(sanitizeBlock(error.stack));
  return exitOfError(error);
};
