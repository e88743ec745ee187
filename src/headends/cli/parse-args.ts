// Parses the command line into a request, with commander. Nothing runs here.
import { CommanderError } from 'commander';
import type { CliWorld } from './shared/cli-world.ts';
import { buildProgram } from './program.ts';
import type { ParseCapture } from './program.ts';
import type { CliRequest } from './shared/request.ts';
import { UsageError } from './shared/errors.ts';

export { defaultWorkspace } from './shared/request.ts';
export type { Common, CliRequest, RunRequest } from './shared/request.ts';

/** Throws a UsageError. */
export const parseArgs = (args: readonly string[], world: CliWorld): CliRequest => {
  const captured: ParseCapture = { request: undefined, out: '', err: '' };
  const program = buildProgram(captured, world);
  const commands = new Map(program.commands.map((one) => [one.name(), one.commands.map((below) => below.name())]));
  // An agent file or a team file in place of a command: this is how `./lead.ai` runs through its shebang line.
  const expanded = isAgentFile(args[0]) ? ['run', ...args] : isTeamFile(args[0]) ? ['team', ...args] : args;
  try {
    program.parse([...expanded], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0)
      return { command: 'help', text: captured.out.trimEnd(), json: requestedJson(args) === 'value' };
    throw usageError(error, { captured, args: expanded, commands });
  }
  if (captured.request === undefined) throw new UsageError('missing command', 'cloister --help', captured.err);
  return captured.request;
};

export type JsonKind = 'value' | 'line' | 'none';

/** Works even if the rest of the line is invalid: the error must then be JSON as well. */
export const requestedJson = (args: readonly string[]): JsonKind => {
  const end = args.indexOf('--');
  const options = end === -1 ? args : args.slice(0, end);
  // There, stdout belongs to the protocol.
  if (args[0] === 'serve' && options.includes('--stdio-mcp')) return 'none';
  // A chat prints one value per message, a server one per request.
  if (options.includes('--json')) return args[0] === 'chat' || args[0] === 'serve' ? 'line' : 'value';
  return options.includes('--jsonl') ? 'line' : 'none';
};

const isAgentFile = (arg: string | undefined): boolean =>
  arg !== undefined && arg.endsWith('.ai') && !arg.startsWith('-');

const isTeamFile = (arg: string | undefined): boolean =>
  arg !== undefined && /\.ya?ml$/u.test(arg) && !arg.startsWith('-');

type MistakeContext = {
  readonly captured: ParseCapture;
  readonly args: readonly string[];
  /** Each command with its subcommands. */
  readonly commands: ReadonlyMap<string, readonly string[]>;
};

const usageError = (error: CommanderError, { captured, args, commands }: MistakeContext): UsageError => {
  const name = commandNameIn(args, commands);
  if (error.code === 'commander.help') return new UsageError('missing command', helpFor(name), captured.err.trimEnd());
  const first = args[0] ?? '';
  if (error.code === 'commander.unknownCommand' && /[./\\]/u.test(first))
    return new UsageError(
      `'${first}' is neither a command nor an agent file (.ai)`,
      `cloister run ${first.replace(/\.\w*$/u, '')}.ai "<input>", or cloister --help`,
    );
  const [message = '', hint = ''] = error.message.replace(/^error: /u, '').split('\n(Did you mean ');
  const advice = suggestionFor(error.code, message, name);
  if (hint === '') return new UsageError(message, advice);
  const nearest = hint.replace(/^one of |\?\)$/gu, '').split(', ');
  const isCommand = error.code === 'commander.unknownCommand';
  const prefix = isCommand ? (name === undefined ? 'cloister ' : `cloister ${name} `) : '';
  return new UsageError(message, nearest.map((one) => `${prefix}${one}`).join(' or '));
};

/** The command and the subcommand in these arguments. */
const commandNameIn = (args: readonly string[], commands: MistakeContext['commands']): string | undefined => {
  const at = args.findIndex((arg) => commands.has(arg));
  if (at === -1) return undefined;
  const name = args[at]!;
  const below = args.slice(at + 1).find((arg) => commands.get(name)?.includes(arg));
  return below === undefined ? name : `${name} ${below}`;
};

const helpFor = (name: string | undefined): string =>
  name === undefined ? 'cloister --help' : `cloister ${name} --help`;

const suggestionFor = (code: string, message: string, name: string | undefined): string => {
  if (name === 'run' || name === 'demo' || name === 'team') {
    if (code === 'commander.excessArguments') return `put the ${name === 'team' ? 'goal' : 'input'} in quotes`;
    if (code === 'commander.unknownOption' && /\s/u.test(message.replace(/^unknown option /u, '')))
      return 'put -- before an input that starts with a dash';
  }
  return helpFor(name);
};
