// The command line: arguments in, lines and an exit code out.
//
//   H1. With --json, stdout gets exactly one JSON value, whatever happens; a chat prints one per message, a server one per
//       request and one per run, each on its own line.
//   H2. Foreign text reaches a terminal only after `sanitize-text.ts` has sanitized it.
//   H3. However a command ends, it restores the terminal and returns one exit code.
import { CloisterError } from '#base';
import { agentHelpCommand } from './agent-help.ts';
import { agentsCommand } from './agents-command.ts';
import { chatCommand } from './chat-command.ts';
import { checkCommand } from './check-command.ts';
import { checkpointsCommand } from './checkpoints-command.ts';
import type { CliWorld } from './shared/cli-world.ts';
import { conversationsCommand } from './conversations-command.ts';
import type { CommandContext } from './shared/command-context.ts';
import { diffCommand } from './diff-command.ts';
import { errorLines, errorValue, exitCode, exitOfError, UsageError } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import { explainCommand } from './explain-command.ts';
import { forkCommand } from './fork-command.ts';
import { initCommand } from './init-command.ts';
import { watchInterrupts } from './shared/interrupts.ts';
import { migrateCommand } from './migrate-command.ts';
import { openOutput } from './shared/output.ts';
import type { Output } from './shared/output.ts';
import { parseArgs, requestedJson } from './parse-args.ts';
import type { JsonKind, CliRequest } from './parse-args.ts';
import { readInput, withDefaultAgent } from './shared/read-input.ts';
import { auditCommand, deadLettersCommand, runsCommand, showCommand } from './read-commands.ts';
import { replayCommand } from './replay-command.ts';
import { resumeCommand } from './resume-command.ts';
import { runCommand } from './run-command.ts';
import { serveCommand, tokenCommand } from './serve-command.ts';
import { teamCommand } from './team-command.ts';
import { sanitizeBlock } from './shared/sanitize-text.ts';
import { verifyCommand } from './verify-command.ts';

/** Never rejects. */
export const runCli = async (args: readonly string[], world: CliWorld): Promise<number> => {
  const output = openOutput(world);
  let request: CliRequest;
  try {
    request = parseArgs(args, world);
  } catch (error) {
    return reportFailure(error, { json: requestedJson(args), verbose: args.includes('--verbose') }, output);
  }
  if (request.command === 'help') {
    if (request.json) output.json({ help: request.text });
    else output.out.print(request.text);
    return exitCode.completed;
  }
  return runRequest(request, world, output);
};

type RunnableRequest = Exclude<CliRequest, { readonly command: 'help' }>;

const runRequest = async (request: RunnableRequest, world: CliWorld, output: Output): Promise<ExitCode> => {
  const interrupts = watchInterrupts(world);
  const errorFormat = { json: jsonKind(request), verbose: request.verbose };
  const leaveImmediately = async (): Promise<ExitCode> => {
    await interrupts.immediateStop;
    interrupts.leave();
    const code = reportFailure(new CloisterError('cancelled'), errorFormat, output);
    output.mute();
    return code;
  };
  const runToEnd = async (): Promise<ExitCode> => {
    try {
      return await dispatch(request, { world, output, interrupts });
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

const dispatch = async (request: RunnableRequest, context: CommandContext): Promise<ExitCode> => {
  switch (request.command) {
    case 'run':
    case 'demo': {
      const { world } = context;
      const asked = await withDefaultAgent(request, world);
      return runCommand({ ...asked, input: request.input ?? (await readInput(world)) }, context);
    }
    case 'team':
      return teamCommand(request, context);
    case 'chat':
      return chatCommand(await withDefaultAgent(request, context.world), context);
    case 'conversations':
      return conversationsCommand(request, context);
    case 'checkpoints':
      return checkpointsCommand(request, context);
    case 'check':
      return checkCommand(request, context);
    case 'init':
      return initCommand(request, context);
    case 'migrate':
      return migrateCommand(request, context);
    case 'agents':
      return agentsCommand(request, context);
    case 'agent-help':
      return agentHelpCommand(request, context);
    case 'runs':
      return runsCommand(request, context);
    case 'show':
      return showCommand(request, context);
    case 'dead-letters':
      return deadLettersCommand(request, context);
    case 'audit':
      return auditCommand(request, context);
    case 'explain':
      return explainCommand(request, context);
    case 'resume':
      return resumeCommand(request, context);
    case 'replay':
      return replayCommand(request, context);
    case 'fork':
      return forkCommand(request, context);
    case 'diff':
      return diffCommand(request, context);
    case 'verify':
      return verifyCommand(request, context);
    case 'serve':
      return serveCommand(request, context);
    case 'token':
      return tokenCommand(request, context);
  }
};

type ErrorFormat = { readonly json: JsonKind; readonly verbose: boolean };

const jsonKind = (request: RunnableRequest): JsonKind => {
  if (request.json) return request.command === 'chat' || request.command === 'serve' ? 'line' : 'value';
  return 'jsonl' in request && request.jsonl ? 'line' : 'none';
};

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
