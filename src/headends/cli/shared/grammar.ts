// What the grammars of the commands share: layout of the help, options, and parsers of option values.
import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import type { Budget, ConversationRef } from '#contracts';
import { defaultWorkspace } from './request.ts';
import type { Common, CliRequest, OutputFlags } from './request.ts';
import { UsageError } from './errors.ts';

export type TakeRequest = (request: CliRequest) => void;

export type Flags = {
  readonly workspace: string;
  readonly json?: boolean;
  readonly verbose?: boolean;
  readonly help?: boolean;
  readonly agents?: readonly string[];
  readonly config?: string;
  readonly schema?: string;
  readonly jsonl?: boolean;
  readonly takeOver?: boolean;
  readonly budgetTokens?: number;
  readonly budgetUsd?: number;
  readonly budgetMs?: number;
  readonly find?: string;
  readonly at?: string;
  readonly model?: string;
  readonly withoutGrant?: readonly string[];
  readonly goal?: string;
  readonly pairs?: number;
  readonly seed?: number;
  readonly syntaxOnly?: boolean;
  readonly connect?: boolean;
  readonly conversation?: string | ConversationRef;
  readonly context?: readonly string[];
  readonly window?: boolean;
  readonly mail?: boolean;
  readonly run?: string;
  readonly agent?: string;
  readonly to?: string;
  readonly force?: boolean;
  readonly deleted?: boolean;
  readonly label?: string;
  readonly name?: string;
  readonly tasks?: string;
  readonly planOnly?: boolean;
  readonly savePlan?: string;
  /** Former name of `--save-plan`. */
  readonly save?: string;
  readonly fromPlan?: string;
  readonly finalAnswer?: boolean;
  /** Former name of `--final-answer`. */
  readonly answer?: boolean;
  readonly graph?: string;
  readonly parallel?: number;
};

/** A command with subcommands. */
export const group = (program: Command, name: string, description: string, examples: readonly string[]): Command =>
  program
    .command(name)
    .description(description)
    .usage('<command>')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .addHelpText('after', exampleText(examples));

const exampleText = (examples: readonly string[]): string =>
  `\n${examples.length > 1 ? 'Examples' : 'Example'}:\n${examples.map((line) => `  $ ${line}`).join('\n')}`;

const oneJsonValue = 'print one JSON value and nothing else';

export const command = (
  program: Command,
  name: string,
  description: string,
  examples: readonly string[],
  json = oneJsonValue,
): Command => describedCommand(program.command(name), description, examples, json);

/** A former name of a command: still accepted, but hidden from the help. */
export const formerCommand = (
  program: Command,
  name: string,
  description: string,
  examples: readonly string[],
): Command => describedCommand(program.command(name, { hidden: true }), description, examples, oneJsonValue);

/** A former name of an option: still accepted, but hidden from the help. */
export const formerOption = (flags: string): Option => new Option(flags).hideHelp();

const describedCommand = (one: Command, description: string, examples: readonly string[], json: string): Command =>
  one
    .description(description)
    .helpOption('-h, --help', 'print this help')
    .option('--json', json)
    .option('--verbose', 'print more detail; with errors, the stack trace')
    .addHelpText('after', exampleText(examples));

export const withWorkspace = (one: Command): Command =>
  one.option('--workspace <dir>', 'folder in which runs are stored', defaultWorkspace);

export const outputFlags = ({ json = false, verbose = false }: Flags): OutputFlags => ({ json, verbose });

export const common = (flags: Flags): Common => ({ workspace: flags.workspace, ...outputFlags(flags) });

export const configFlag = ({ config }: Flags): { readonly config: string | null } => ({ config: config ?? null });

/** For commands that show a run live. */
export const withEvents = (one: Command): Command =>
  one.addOption(new Option('--jsonl', 'print one JSON event per line, the outcome last').conflicts('json'));

export const withAgents = (one: Command): Command =>
  one
    .option(
      '--agents <path>',
      'where to find agents: an .ai file, a folder, a team file or a module; repeatable',
      collect,
    )
    .option('--config <file>', 'config file that takes precedence over all others');

export const agentsFlag = ({ agents = [] }: Flags): { readonly agents: readonly string[] } => ({ agents });

export const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** Parses an agent argument: a name or a file. */
export const parseAgent = (
  agent: string,
  agents: readonly string[],
): { readonly agent: string; readonly agents: readonly string[] } => {
  if (/\.ya?ml$/u.test(agent))
    throw new UsageError(`${agent} is a team file, not an agent file`, `cloister team ${agent} "<goal>"`);
  return isPath(agent) ? { agent: agentNameFromPath(agent), agents: [agent, ...agents] } : { agent, agents };
};

/** Null if none is named: the default agent is used. */
export const agentOrDefault = (
  agent: string | undefined,
  agents: readonly string[],
): { readonly agent: string | null; readonly agents: readonly string[] } =>
  agent === undefined ? { agent: null, agents } : parseAgent(agent, agents);

export const isPath = (agent: string): boolean => /[/\\]/u.test(agent) || agent.endsWith('.ai');

/** An agent's name is its file name without the extension. */
const agentNameFromPath = (path: string): string => (path.split(/[/\\]/u).at(-1) ?? path).replace(/\.ai$/u, '');

/** `<name>`, or `<agent>/<name>`: agents have no slash in their names. */
export const parseConversationName = (text: string): string | ConversationRef => {
  const at = text.indexOf('/');
  const [agent, name] = at === -1 ? [null, text] : [text.slice(0, at), text.slice(at + 1)];
  if (agent === '' || name === '') throw new InvalidArgumentError('It must be a name, or <agent>/<name>.');
  return agent === null ? name : { agent, name };
};

export const withBudget = (one: Command): Command =>
  one
    .option('--budget-tokens <n>', 'maximum tokens, instead of `budget.tokens` in the file', wholeNumber)
    .option('--budget-usd <n>', 'maximum cost in US dollars, instead of `budget.usd`', decimal)
    .option('--budget-ms <n>', 'maximum time in milliseconds, instead of `budget.time`', wholeNumber);

export const budgetFlag = (flags: Flags): { readonly budget: Budget } => ({
  budget: {
    ...(flags.budgetTokens === undefined ? {} : { tokens: flags.budgetTokens }),
    ...(flags.budgetUsd === undefined ? {} : { usd: flags.budgetUsd }),
    ...(flags.budgetMs === undefined ? {} : { ms: flags.budgetMs }),
  },
});

const decimal = (text: string): number => {
  if (!/^\d{1,12}(?:\.\d{1,12})?$/u.test(text)) throw new InvalidArgumentError('It must be a number such as 0.50.');
  return Number(text);
};

export const wholeNumber = (text: string): number => {
  const value = Number(text);
  if (!/^\d+$/u.test(text) || !Number.isSafeInteger(value))
    throw new InvalidArgumentError('It must be a whole number.');
  return value;
};

export const positiveInteger = (text: string): number => {
  const value = wholeNumber(text);
  if (value === 0) throw new InvalidArgumentError('It must be 1 or more.');
  return value;
};
