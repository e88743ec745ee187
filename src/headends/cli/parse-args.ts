// Parses the command line with commander. Nothing runs here.
import { Command, CommanderError } from 'commander';
import { loadCommands } from './commands.ts';
import type { LoadedCommand } from './commands.ts';
import type { CliWorld } from './shared/cli-world.ts';
import type { CliCommand, Invocation } from './shared/define-command.ts';
import { exitCode, UsageError } from './shared/errors.ts';

/** How many JSON values stdout gets. */
type JsonKind = 'value' | 'line' | 'none';

/** `json` and `verbose` say how an error is printed. */
export type ParsedArgs = Pick<Invocation, 'store' | 'run'> & { readonly json: JsonKind; readonly verbose: boolean };

type ArgsParser = {
  /** How to print an error of a command line that cannot be parsed: with --json, it must be JSON as well. */
  readonly onError: Omit<ParsedArgs, 'run' | 'store'>;
  /** Throws a UsageError. */
  parse(): ParsedArgs;
};

/** Loads the command that these arguments name. */
export const openParser = async (
  args: readonly string[],
  world: Pick<CliWorld, 'version' | 'terminal'>,
): Promise<ArgsParser> => {
  // An agent file or a team file in place of a command: this is how `./lead.ai` runs through its shebang line.
  const expanded = isAgentFile(args[0]) ? ['run', ...args] : isTeamFile(args[0]) ? ['team', ...args] : args;
  const loaded = await loadCommands(commandWord(expanded));
  const command = loaded.find(({ name }) => name === expanded[0])?.command ?? null;
  const json = requestedJson(expanded, command);
  return {
    onError: { json, verbose: args.includes('--verbose') },
    parse: () => {
      const captured: Capture = { invocation: undefined, out: '', err: '' };
      const program = buildProgram(captured, loaded, world);
      try {
        program.parse([...expanded], { from: 'user' });
      } catch (error) {
        if (!(error instanceof CommanderError)) throw error;
        if (error.exitCode !== 0) throw usageError(error, { captured, args: expanded, program });
        return helpRequest(captured.out.trimEnd(), json === 'value');
      }
      const { invocation } = captured;
      if (invocation === undefined) throw new UsageError('missing command', 'cloister --help', captured.err);
      return { ...invocation, json: jsonKind(invocation, command) };
    },
  };
};

const isAgentFile = (arg: string | undefined): boolean =>
  arg !== undefined && arg.endsWith('.ai') && !arg.startsWith('-');

const isTeamFile = (arg: string | undefined): boolean =>
  arg !== undefined && /\.ya?ml$/u.test(arg) && !arg.startsWith('-');

/** The word that names a command, if any does. */
const commandWord = (args: readonly string[]): string | undefined => {
  const [first, second] = args.filter((arg) => !arg.startsWith('-'));
  return first === 'help' ? second : first;
};

/** Works even if the rest of the line is invalid. */
const requestedJson = (args: readonly string[], command: CliCommand | null): JsonKind => {
  const end = args.indexOf('--');
  const options = end === -1 ? args : args.slice(0, end);
  if (command?.protocolOption !== undefined && options.includes(command.protocolOption)) return 'none';
  return jsonKind({ json: options.includes('--json'), jsonl: options.includes('--jsonl') }, command);
};

const jsonKind = ({ json, jsonl }: Pick<Invocation, 'json' | 'jsonl'>, command: CliCommand | null): JsonKind => {
  if (json) return command?.jsonLines === undefined ? 'value' : 'line';
  return jsonl ? 'line' : 'none';
};

const helpRequest = (text: string, json: boolean): ParsedArgs => ({
  json: json ? 'value' : 'none',
  verbose: false,
  store: null,
  run: async ({ output }) => {
    if (json) output.json({ help: text });
    else output.out.print(text);
    return exitCode.completed;
  },
});

/** Collects what commander would write to the streams. */
type Capture = { invocation: Invocation | undefined; out: string; err: string };

const buildProgram = (
  captured: Capture,
  loaded: readonly LoadedCommand[],
  { version, terminal }: Pick<CliWorld, 'version' | 'terminal'>,
): Command => {
  const program = new Command('cloister')
    .description('Run teams of isolated LLM agents, and audit everything that passes between them.')
    .usage('[options] <command>\n       cloister <agent.ai> [input]\n       cloister <team.yaml> [goal]')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print help for a command')
    .addHelpText('after', helpEnd)
    // Options after the name of a command are its own, also if the command has others below it.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void (captured.out += text),
      writeErr: (text) => void (captured.err += text),
      getOutHelpWidth: () => terminal.stdout.columns ?? 80,
      getErrHelpWidth: () => terminal.stderr.columns ?? 80,
      outputError: () => {},
    });
  for (const { name, isFormer, command } of loaded)
    command?.build(
      program.command(name, { hidden: isFormer }),
      (invocation) => void (captured.invocation = invocation),
    );
  return program;
};

const helpEnd = `
Examples:
  $ cloister demo
  $ cloister init team && cd team
  $ cloister lead.ai "Compare SQLite and DuckDB"
  $ cloister lead.ai --help
  $ cloister team team.yaml "Write a page about bees"
  $ cloister chat lead.ai
  $ cloister studio
  $ cloister serve --agent lead.ai
  $ cloister audit last

\`last\` stands for the newest run. A cell is one agent at work in a run; a
crossing is anything that passes into or out of a cell.`;

type MistakeContext = { readonly captured: Capture; readonly args: readonly string[]; readonly program: Command };

const usageError = (error: CommanderError, { captured, args, program }: MistakeContext): UsageError => {
  const name = commandNameIn(args, program);
  if (error.code === 'commander.help') return new UsageError('missing command', helpFor(name), captured.err.trimEnd());
  const first = args[0] ?? '';
  if (error.code === 'commander.unknownCommand' && /[./\\]/u.test(first))
    return new UsageError(
      `'${first}' is neither a command nor an agent file (.ai)`,
      `cloister run ${first.replace(/\.\w*$/u, '')}.ai "<input>", or cloister --help`,
    );
  if (error.code === 'commander.unknownOption' && name === 'chat' && args.includes('--attach'))
    return new UsageError(
      "messages of a chat take no files: unknown option '--attach'",
      'cloister run <agent> --conversation <name> --attach <file> "<message>", in the same conversation',
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
const commandNameIn = (args: readonly string[], { commands }: Command): string | undefined => {
  const at = args.findIndex((arg) => commands.some((command) => command.name() === arg));
  if (at === -1) return undefined;
  const found = commands.find((command) => command.name() === args[at])!;
  const below = args.slice(at + 1).find((arg) => found.commands.some((command) => command.name() === arg));
  return below === undefined ? found.name() : `${found.name()} ${below}`;
};

const helpFor = (name: string | undefined): string =>
  name === undefined ? 'cloister --help' : `cloister ${name} --help`;

const suggestionFor = (code: string, message: string, name: string | undefined): string => {
  if (name === 'run' || name === 'demo' || name === 'team') {
    if (code === 'commander.excessArguments') return `put the ${name === 'team' ? 'goal' : 'input'} in quotes`;
    if (code === 'commander.unknownOption' && /\s/u.test(message.replace(/^unknown option /u, '')))
      return 'put -- before an input that starts with a dash';
  }
  const [, unknown] =
    code === 'commander.unknownCommand' && name === undefined ? (/'([\w-]+)'/u.exec(message) ?? []) : [];
  return unknown === undefined ? helpFor(name) : `cloister run ${unknown} "<input>" for an agent, or cloister --help`;
};
