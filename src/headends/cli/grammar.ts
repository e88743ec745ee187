// What the commands share: their shape, their options, and how an option's text becomes a value.
import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import type { Budget, ConversationRef } from '#contracts';
import { defaultWorkspace } from './request.ts';
import type { Common, CliRequest, OutputFlags } from './request.ts';
import { UsageError } from './usage-error.ts';

export type Take = (request: CliRequest) => void;

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
  readonly save?: string;
  readonly fromPlan?: string;
  readonly answer?: boolean;
  readonly graph?: string;
  readonly parallel?: number;
};

/** Commands that belong together, below one name. */
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

export const command = (
  program: Command,
  name: string,
  description: string,
  examples: readonly string[],
  json = 'print one JSON value and nothing else',
): Command =>
  program
    .command(name)
    .description(description)
    .helpOption('-h, --help', 'print this help')
    .option('--json', json)
    .option('--verbose', 'say more; with errors, the stack')
    .addHelpText('after', exampleText(examples));

export const withWorkspace = (one: Command): Command =>
  one.option('--workspace <dir>', 'where runs are kept', defaultWorkspace);

export const outputFlags = ({ json = false, verbose = false }: Flags): OutputFlags => ({ json, verbose });

export const common = (flags: Flags): Common => ({ workspace: flags.workspace, ...outputFlags(flags) });

export const configOf = ({ config }: Flags): { readonly config: string | null } => ({ config: config ?? null });

/** For what shows a run while it goes on. */
export const withEvents = (one: Command): Command =>
  one.addOption(new Option('--jsonl', 'print one event per line, the outcome last').conflicts('json'));

export const withAgents = (one: Command): Command =>
  one
    .option('--agents <path>', 'an .ai file, a folder of them, a team’s file or a module; repeatable', collect)
    .option('--config <file>', 'a config before all others');

export const agentsOf = ({ agents = [] }: Flags): { readonly agents: readonly string[] } => ({ agents });

export const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** An agent by its name or its file, as the command line takes it. */
export const agentNamed = (
  agent: string,
  agents: readonly string[],
): { readonly agent: string; readonly agents: readonly string[] } => {
  if (/\.ya?ml$/u.test(agent))
    throw new UsageError(`${agent} is the file of a team, not of an agent`, `cloister team ${agent} "<goal>"`);
  return isPath(agent) ? { agent: nameOf(agent), agents: [agent, ...agents] } : { agent, agents };
};

/** Null where none is named: the default one is meant. */
export const agentOrDefault = (
  agent: string | undefined,
  agents: readonly string[],
): { readonly agent: string | null; readonly agents: readonly string[] } =>
  agent === undefined ? { agent: null, agents } : agentNamed(agent, agents);

export const isPath = (agent: string): boolean => /[/\\]/u.test(agent) || agent.endsWith('.ai');

/** An agent's name is that of its file, without the ending. */
const nameOf = (path: string): string => (path.split(/[/\\]/u).at(-1) ?? path).replace(/\.ai$/u, '');

/** `<name>`, or `<agent>/<name>`: agents have no slash in their names. */
export const conversationNamed = (text: string): string | ConversationRef => {
  const at = text.indexOf('/');
  const [agent, name] = at === -1 ? [null, text] : [text.slice(0, at), text.slice(at + 1)];
  if (agent === '' || name === '') throw new InvalidArgumentError('It must be a name, or <agent>/<name>.');
  return agent === null ? name : { agent, name };
};

export const withBudget = (one: Command): Command =>
  one
    .option('--budget-tokens <n>', 'tokens that may be used', wholeNumber)
    .option('--budget-usd <n>', 'money that may be spent', decimal)
    .option('--budget-ms <n>', 'milliseconds that it may take', wholeNumber);

export const budgetOf = (flags: Flags): { readonly budget: Budget } => ({
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

export const someNumber = (text: string): number => {
  const value = wholeNumber(text);
  if (value === 0) throw new InvalidArgumentError('It must be 1 or more.');
  return value;
};
