// The command line as data. commander knows the grammar; nothing runs here.
import { CommanderError } from 'commander';
import type { CliWorld } from './cli-world.ts';
import { buildProgram } from './program.ts';
import type { ParseCapture } from './program.ts';
import type { CliRequest } from './request.ts';
import { UsageError } from './usage-error.ts';

export { defaultWorkspace } from './request.ts';
export type { Common, CliRequest, RunRequest } from './request.ts';

/** Throws a UsageError. */
export const parseArgs = (args: readonly string[], world: CliWorld): CliRequest => {
  const heard: ParseCapture = { request: undefined, out: '', err: '' };
  const program = buildProgram(heard, world);
  const commands = new Map(program.commands.map((one) => [one.name(), one.commands.map((below) => below.name())]));
  // A team's file, or an agent's, in the place of a command: what runs `./lead.ai` through its first line.
  const spoken = isAgentFile(args[0]) ? ['run', ...args] : isTeamFile(args[0]) ? ['team', ...args] : args;
  try {
    program.parse([...spoken], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { command: 'help', text: heard.out.trimEnd(), json: wantedJson(args) === 'value' };
    throw usageError(error, { heard, args: spoken, commands });
  }
  if (heard.request === undefined) throw new UsageError('a command is missing', 'cloister --help', heard.err);
  return heard.request;
};

export type JsonKind = 'value' | 'line' | 'none';

/** Known even when the rest of the line cannot be understood: an error must then be JSON as well. */
export const wantedJson = (args: readonly string[]): JsonKind => {
  const end = args.indexOf('--');
  const options = end === -1 ? args : args.slice(0, end);
  // What is on standard output there is the protocol's.
  if (args[0] === 'serve' && options.includes('--stdio-mcp')) return 'none';
  // A chat has one value for each message, a server one for each request.
  if (options.includes('--json')) return args[0] === 'chat' || args[0] === 'serve' ? 'line' : 'value';
  return options.includes('--jsonl') ? 'line' : 'none';
};

const isAgentFile = (arg: string | undefined): boolean =>
  arg !== undefined && arg.endsWith('.ai') && !arg.startsWith('-');

const isTeamFile = (arg: string | undefined): boolean =>
  arg !== undefined && /\.ya?ml$/u.test(arg) && !arg.startsWith('-');

type Mistaken = {
  readonly heard: ParseCapture;
  readonly args: readonly string[];
  /** Each with the commands below it. */
  readonly commands: ReadonlyMap<string, readonly string[]>;
};

const usageError = (error: CommanderError, { heard, args, commands }: Mistaken): UsageError => {
  const name = nameIn(args, commands);
  if (error.code === 'commander.help')
    return new UsageError('a command is missing', helpFor(name), heard.err.trimEnd());
  const first = args[0] ?? '';
  if (error.code === 'commander.unknownCommand' && /[./\\]/u.test(first))
    return new UsageError(
      `'${first}' is neither a command nor an agent file: those end with .ai`,
      `cloister run ${first.replace(/\.\w*$/u, '')}.ai "<input>", or cloister --help`,
    );
  const [message = '', hint = ''] = error.message.replace(/^error: /u, '').split('\n(Did you mean ');
  const advice = adviceOn(error.code, message, name);
  return new UsageError(message, hint === '' ? advice : hint.replace(/^one of |\?\)$/gu, ''));
};

/** The command that was meant, and the one below it. */
const nameIn = (args: readonly string[], commands: Mistaken['commands']): string | undefined => {
  const at = args.findIndex((arg) => commands.has(arg));
  if (at === -1) return undefined;
  const name = args[at]!;
  const below = args.slice(at + 1).find((arg) => commands.get(name)?.includes(arg));
  return below === undefined ? name : `${name} ${below}`;
};

const helpFor = (name: string | undefined): string =>
  name === undefined ? 'cloister --help' : `cloister ${name} --help`;

const adviceOn = (code: string, message: string, name: string | undefined): string => {
  if (name === 'run' || name === 'demo' || name === 'team') {
    if (code === 'commander.excessArguments') return `put the ${name === 'team' ? 'goal' : 'input'} in quotes`;
    if (code === 'commander.unknownOption' && /\s/u.test(message.replace(/^unknown option /u, '')))
      return 'put -- before an input that begins with a dash';
  }
  return helpFor(name);
};
