// The command line: arguments in, lines and an exit code out.
//
//   H1. With --json, stdout gets exactly one JSON value, whatever happens; of a chat, one a line for each message; of a server, one
//       a line for each request and each run.
//   H2. Nothing foreign reaches a terminal before `text.ts` has made it harmless.
//   H3. Every way out restores the terminal and ends in one exit code.
import { CloisterError } from '#base';
import { agentHelpCommand } from './agent-help.ts';
import { agentsCommand } from './agents-command.ts';
import { chatCommand } from './chat-command.ts';
import { checkCommand } from './check-command.ts';
import { checkpointsCommand } from './checkpoints-command.ts';
import type { CliWorld } from './cli-world.ts';
import { conversationsCommand } from './conversations-command.ts';
import type { CommandContext } from './command-context.ts';
import { diffCommand } from './diff-command.ts';
import { errorLines, errorValue } from './error-value.ts';
import { exitCode, exitOfError } from './exit-code.ts';
import type { ExitCode } from './exit-code.ts';
import { explainCommand } from './explain-command.ts';
import { forkCommand } from './fork-command.ts';
import { initCommand } from './init-command.ts';
import { watchInterrupts } from './interrupts.ts';
import { openOutput } from './output.ts';
import type { Output } from './output.ts';
import { parseArgs, wantedJson } from './parse-args.ts';
import type { JsonKind, CliRequest } from './parse-args.ts';
import { readInput } from './read-input.ts';
import { auditCommand, deadLettersCommand, runsCommand, showCommand } from './read-commands.ts';
import { replayCommand } from './replay-command.ts';
import { resumeCommand } from './resume-command.ts';
import { runCommand } from './run-command.ts';
import { serveCommand, tokenCommand } from './serve-command.ts';
import { teamCommand } from './team-command.ts';
import { sanitizeBlock } from './sanitize-text.ts';
import { UsageError } from './usage-error.ts';
import { verifyCommand } from './verify-command.ts';
import { withDefault } from './default-agent.ts';

/** Never rejects. */
export const runCli = async (args: readonly string[], world: CliWorld): Promise<number> => {
  const output = openOutput(world);
  let request: CliRequest;
  try {
    request = parseArgs(args, world);
  } catch (error) {
    return failed(error, { json: wantedJson(args), verbose: args.includes('--verbose') }, output);
  }
  if (request.command === 'help') {
    if (request.json) output.json({ help: request.text });
    else output.out.print(request.text);
    return exitCode.completed;
  }
  return runRequest(request, world, output);
};

type AskedRequest = Exclude<CliRequest, { readonly command: 'help' }>;

const runRequest = async (request: AskedRequest, world: CliWorld, output: Output): Promise<ExitCode> => {
  const interrupts = watchInterrupts(world);
  const telling = { json: jsonKind(request), verbose: request.verbose };
  const leftAtOnce = async (): Promise<ExitCode> => {
    await interrupts.atOnce;
    interrupts.leave();
    const code = failed(new CloisterError('cancelled'), telling, output);
    output.mute();
    return code;
  };
  const toTheEnd = async (): Promise<ExitCode> => {
    try {
      return await carryOut(request, { world, output, interrupts });
    } catch (error) {
      return failed(error, telling, output);
    }
  };
  try {
    return await Promise.race([toTheEnd(), leftAtOnce()]);
  } finally {
    interrupts.close();
  }
};

const carryOut = async (request: AskedRequest, desk: CommandContext): Promise<ExitCode> => {
  switch (request.command) {
    case 'run':
    case 'demo': {
      const { world } = desk;
      const asked = await withDefault(request, world);
      return runCommand({ ...asked, input: request.input ?? (await readInput(world)) }, desk);
    }
    case 'team':
      return teamCommand(request, desk);
    case 'chat':
      return chatCommand(await withDefault(request, desk.world), desk);
    case 'conversations':
      return conversationsCommand(request, desk);
    case 'checkpoints':
      return checkpointsCommand(request, desk);
    case 'check':
      return checkCommand(request, desk);
    case 'init':
      return initCommand(request, desk);
    case 'agents':
      return agentsCommand(request, desk);
    case 'agent-help':
      return agentHelpCommand(request, desk);
    case 'runs':
      return runsCommand(request, desk);
    case 'show':
      return showCommand(request, desk);
    case 'deadletters':
      return deadLettersCommand(request, desk);
    case 'audit':
      return auditCommand(request, desk);
    case 'explain':
      return explainCommand(request, desk);
    case 'resume':
      return resumeCommand(request, desk);
    case 'replay':
      return replayCommand(request, desk);
    case 'fork':
      return forkCommand(request, desk);
    case 'diff':
      return diffCommand(request, desk);
    case 'verify':
      return verifyCommand(request, desk);
    case 'serve':
      return serveCommand(request, desk);
    case 'token':
      return tokenCommand(request, desk);
  }
};

type Telling = { readonly json: JsonKind; readonly verbose: boolean };

const jsonKind = (request: AskedRequest): JsonKind => {
  if (request.json) return request.command === 'chat' || request.command === 'serve' ? 'line' : 'value';
  return 'jsonl' in request && request.jsonl ? 'line' : 'none';
};

const failed = (error: unknown, { json, verbose }: Telling, output: Output): ExitCode => {
  const value = errorValue(error);
  const { err } = output;
  const told = json === 'value' && output.json({ error: value });
  if (json === 'line') output.jsonLine({ error: value });
  else if (error instanceof UsageError && error.help !== null && !told) err.print(sanitizeBlock(error.help));
  else if (!told) err.print(...errorLines(value).map((line) => line.replace(/^error:/u, err.paint('red', 'error:'))));
  if (verbose && error instanceof Error && error.stack !== undefined) err.print(sanitizeBlock(error.stack));
  return exitOfError(error);
};
