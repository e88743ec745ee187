// The command line as data. commander knows the grammar; nothing runs here.
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import type { Budget } from '#contracts';
import type { CliWorld } from './cli-world.ts';
import { UsageError } from './usage-error.ts';

export type Common = { readonly workspace: string; readonly json: boolean; readonly verbose: boolean };

export type RunRequest = Common & {
  readonly command: 'run' | 'demo';
  readonly agent: string;
  readonly input: string;
  readonly agents: readonly string[];
  readonly budget: Budget;
  readonly jsonl: boolean;
};

export type Request =
  | RunRequest
  | (Common & { readonly command: 'runs' })
  | (Common & { readonly command: 'show' | 'audit'; readonly run: string })
  | (Common & {
      readonly command: 'explain';
      readonly run: string;
      readonly cell: string;
      readonly find: string | null;
    })
  /** Help or the version was asked for. */
  | { readonly command: 'help'; readonly text: string; readonly json: boolean };

export const defaultWorkspace = './.cloister';

/** Throws a UsageError. */
export const parseArgs = (args: readonly string[], world: CliWorld): Request => {
  const heard: Heard = { request: undefined, out: '', err: '' };
  const program = buildProgram(heard, world);
  try {
    program.parse([...args], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { command: 'help', text: heard.out.trimEnd(), json: wantedJson(args) === 'value' };
    throw usageError(error, heard, args);
  }
  if (heard.request === undefined) throw new UsageError('a command is missing', 'cloister --help', heard.err);
  return heard.request;
};

export type JsonKind = 'value' | 'line' | 'none';

/** Known even when the rest of the line cannot be understood: an error must then be JSON as well. */
export const wantedJson = (args: readonly string[]): JsonKind => {
  const end = args.indexOf('--');
  const options = end === -1 ? args : args.slice(0, end);
  if (options.includes('--json')) return 'value';
  return options.includes('--jsonl') ? 'line' : 'none';
};

type Heard = { request: Request | undefined; out: string; err: string };

const usageError = (error: CommanderError, heard: Heard, args: readonly string[]): UsageError => {
  if (error.code === 'commander.help')
    return new UsageError('a command is missing', 'cloister --help', heard.err.trimEnd());
  const [message = '', hint = ''] = error.message.replace(/^error: /u, '').split('\n(Did you mean ');
  const suggestion = hint === '' ? adviceOn(error.code, message, args) : hint.replace(/^one of |\?\)$/gu, '');
  return new UsageError(message, suggestion);
};

const adviceOn = (code: string, message: string, args: readonly string[]): string => {
  const name = args.find((arg) => commands.includes(arg));
  if (name === 'run' || name === 'demo') {
    if (code === 'commander.excessArguments') return 'put the input in quotes';
    if (code === 'commander.unknownOption' && /\s/u.test(message.replace(/^unknown option /u, '')))
      return 'put -- before an input that begins with a dash';
  }
  return name === undefined ? 'cloister --help' : `cloister ${name} --help`;
};

const commands = ['run', 'demo', 'runs', 'show', 'explain', 'audit'];

type Flags = {
  readonly workspace: string;
  readonly json?: boolean;
  readonly verbose?: boolean;
  readonly agents?: readonly string[];
  readonly jsonl?: boolean;
  readonly budgetTokens?: number;
  readonly budgetUsd?: number;
  readonly budgetMs?: number;
  readonly find?: string;
};

const buildProgram = (heard: Heard, world: CliWorld): Command => {
  const program = new Command('cloister')
    .description('Runs teams of LLM agents, each in its own cell, and shows what crossed between them.')
    .version(world.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .addHelpText('after', '\nExample:\n  $ cloister demo\n  $ cloister audit last\n\n`last` names the newest run.')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void (heard.out += text),
      writeErr: (text) => void (heard.err += text),
      getOutHelpWidth: () => world.stdout.columns ?? 80,
      getErrHelpWidth: () => world.stderr.columns ?? 80,
      outputError: () => {},
    });
  const take = (request: Request): void => {
    heard.request = request;
  };
  addRunCommands(program, world, take);
  addReadCommands(program, take);
  return program;
};

const addRunCommands = (program: Command, world: CliWorld, take: (request: Request) => void): void => {
  const run = command(program, 'run', 'run an agent: progress on stderr, the answer on stdout', [
    'cloister run lead "Compare SQLite and DuckDB" --agents ./agents.ts --budget-usd 0.50',
  ])
    .argument('<agent>', 'name of the agent')
    .argument('<input>', 'what it should do')
    .option('--agents <module>', 'a module whose default export is a list of agents; repeatable', collect);
  runOptions(run).action((agent: string, input: string, flags: Flags) =>
    take({ command: 'run', agent, input, ...runFlags(flags) }),
  );

  const demo = command(program, 'demo', 'run the built-in research team, offline, and audit it', [
    'cloister demo',
    `cloister demo "${world.demo.question}" --json`,
  ]).argument('[question]', 'what the team should find out', world.demo.question);
  runOptions(demo).action((input: string, flags: Flags) =>
    take({ command: 'demo', agent: world.demo.agent, input, ...runFlags(flags) }),
  );
};

const addReadCommands = (program: Command, take: (request: Request) => void): void => {
  command(program, 'runs', 'list the runs of the workspace, newest first', ['cloister runs']).action((flags: Flags) =>
    take({ command: 'runs', ...common(flags) }),
  );
  command(program, 'show', 'show a run: its cells, figures and answer', [
    'cloister show last',
    'cloister show 4f2a --verbose',
  ])
    .argument('<run>', 'a run, its first characters, or `last`')
    .action((run: string, flags: Flags) => take({ command: 'show', run, ...common(flags) }));
  command(program, 'explain', 'say where everything that a cell’s model saw came from', [
    'cloister explain last researcher --find "write-ahead log"',
  ])
    .argument('<run>', 'a run, its first characters, or `last`')
    .argument('<cell>', 'a cell, its first characters, or the name of its agent')
    .option('--find <text>', 'only what holds this text')
    .action((run: string, cell: string, flags: Flags) =>
      take({ command: 'explain', run, cell, find: flags.find ?? null, ...common(flags) }),
    );
  command(program, 'audit', 'check every crossing and rebuild every prompt of a run', ['cloister audit last'])
    .argument('<run>', 'a run, its first characters, or `last`')
    .action((run: string, flags: Flags) => take({ command: 'audit', run, ...common(flags) }));
};

const command = (program: Command, name: string, description: string, examples: readonly string[]): Command =>
  program
    .command(name)
    .description(description)
    .helpOption('-h, --help', 'print this help')
    .option('--workspace <dir>', 'where runs are kept', defaultWorkspace)
    .option('--json', 'print one JSON value and nothing else')
    .option('--verbose', 'say more; with errors, the stack')
    .addHelpText(
      'after',
      `\n${examples.length > 1 ? 'Examples' : 'Example'}:\n${examples.map((line) => `  $ ${line}`).join('\n')}`,
    );

const runOptions = (run: Command): Command =>
  run
    .addOption(new Option('--jsonl', 'print one event per line, the outcome last').conflicts('json'))
    .option('--budget-tokens <n>', 'tokens that may be used', wholeNumber)
    .option('--budget-usd <n>', 'money that may be spent', decimal)
    .option('--budget-ms <n>', 'milliseconds that it may take', wholeNumber);

const common = ({ workspace, json = false, verbose = false }: Flags): Common => ({ workspace, json, verbose });

const runFlags = (flags: Flags) => ({
  ...common(flags),
  agents: flags.agents ?? [],
  jsonl: flags.jsonl ?? false,
  budget: {
    ...(flags.budgetTokens === undefined ? {} : { tokens: flags.budgetTokens }),
    ...(flags.budgetUsd === undefined ? {} : { usd: flags.budgetUsd }),
    ...(flags.budgetMs === undefined ? {} : { ms: flags.budgetMs }),
  },
});

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

const wholeNumber = (text: string): number => {
  const value = Number(text);
  if (!/^\d+$/u.test(text) || !Number.isSafeInteger(value))
    throw new InvalidArgumentError('It must be a whole number.');
  return value;
};

const decimal = (text: string): number => {
  if (!/^\d{1,12}(?:\.\d{1,12})?$/u.test(text)) throw new InvalidArgumentError('It must be a number such as 0.50.');
  return Number(text);
};
