// Arguments and options that several commands share, with the parsers of their values; and what stands in for an
// argument that was not given: stdin, the default agent.
import { agentNameFromPath, isAgentPath } from '#base';
import type { Budget, ConversationRef } from '#contracts';
import { InvalidArgumentError } from 'commander';
import type { CliRuntime, CliTerminal } from './cli-world.ts';
import type { ArgumentSpec, OptionSpec } from './define-command.ts';
import { UsageError } from './errors.ts';

export const requiredArgument = (about: string): ArgumentSpec<string> => ({ about, form: 'required', absent: '' });

export const optionalArgument = (about: string): ArgumentSpec<string | null> => ({
  about,
  form: 'optional',
  absent: null,
});

/** The default is shown in the help. */
export const defaultedArgument = (about: string, absent: string): ArgumentSpec<string> => ({
  about,
  form: 'optional',
  absent,
  absentAbout: JSON.stringify(absent),
});

export const flagOption = (about: string): OptionSpec<boolean> => ({ about, absent: false });

export const textOption = (takes: string, about: string): OptionSpec<string | null> => ({
  about,
  takes,
  absent: null,
});

export const listOption = (takes: string, about: string): OptionSpec<readonly string[]> => ({
  about,
  takes,
  absent: [],
  parse: (text, before = []) => [...before, text],
});

export const valueOption = <T>(takes: string, about: string, parse: (text: string) => T): OptionSpec<T | null> => ({
  about,
  takes,
  absent: null,
  parse,
});

export const portNumber = (text: string): number => {
  const value = wholeNumber(text);
  if (value > 65_535) throw new InvalidArgumentError('It must be a port: 0 to 65535.');
  return value;
};

export const runArgument = { run: requiredArgument('a run id, a prefix of one, or `last`') };

export const agentArgument = {
  agent: optionalArgument('an .ai file or an agent name (default: `defaultAgent` in the config)'),
};

export const pathsArgument: { readonly paths: ArgumentSpec<readonly string[]> } = {
  paths: { about: 'files and folders', form: 'list', absent: ['.'], absentAbout: 'the current folder' },
};

export const defaultWorkspace = './.cloister';

export const workspaceOption: {
  readonly workspace: OptionSpec<string>;
  readonly store: OptionSpec<string | null>;
} = {
  workspace: {
    about: 'folder in which runs are stored',
    takes: '<dir>',
    absent: defaultWorkspace,
    initial: defaultWorkspace,
  },
  store: textOption(
    '<url>',
    'PostgreSQL database in which runs are stored instead: postgres://user@host/database (default: CLOISTER_STORE)',
  ),
};

export const configOption = { config: textOption('<file>', 'config file that takes precedence over all others') };

export const agentsOptions = {
  agents: listOption('<path>', 'where to find agents: an .ai file, a folder, a team file or a module; repeatable'),
  ...configOption,
};

/** For commands that print answers. */
export const answerOptions = {
  plain: flagOption('on a terminal: print the answer as it was written, without rendering its Markdown'),
  stream: {
    ...flagOption('in a pipe: print the answer as it is written, with what is said before it'),
    conflicts: ['json', 'jsonl'],
  },
};

/** For commands that show a run live. */
export const runOutputOptions = {
  jsonl: { ...flagOption('print one JSON event per line, the outcome last'), conflicts: ['json'] },
  ...answerOptions,
};

export const budgetOptions = {
  budgetTokens: valueOption('<n>', 'maximum tokens, instead of `budget.tokens` in the file', (text) =>
    wholeNumber(text),
  ),
  budgetUsd: valueOption('<n>', 'maximum cost in US dollars, instead of `budget.usd`', (text) => decimal(text)),
  budgetMs: valueOption('<n>', 'maximum time in milliseconds, instead of `budget.time`', (text) => wholeNumber(text)),
};

/** Of a fork: what is not named stays as it was. */
export const forkBudgetOptions = {
  budgetTokens: valueOption('<n>', 'maximum tokens; only if --at is the first cell of the run', (text) =>
    wholeNumber(text),
  ),
  budgetUsd: valueOption('<n>', 'maximum cost in US dollars; the same', (text) => decimal(text)),
  budgetMs: valueOption('<n>', 'maximum time in milliseconds; the same', (text) => wholeNumber(text)),
};

type BudgetValues = {
  readonly budgetTokens: number | null;
  readonly budgetUsd: number | null;
  readonly budgetMs: number | null;
};

export const budgetOf = ({ budgetTokens, budgetUsd, budgetMs }: BudgetValues): Budget => ({
  ...(budgetTokens === null ? {} : { tokens: budgetTokens }),
  ...(budgetUsd === null ? {} : { usd: budgetUsd }),
  ...(budgetMs === null ? {} : { ms: budgetMs }),
});

export const conversationOption = (about: string) => ({
  conversation: valueOption('<name>', `${about}; <agent>/<name> for another agent’s`, (text) => {
    const conversation = parseConversation(text);
    if (conversation === null) throw new InvalidArgumentError('It must be a name, or <agent>/<name>.');
    return conversation;
  }),
});

/** `<name>`, or `<agent>/<name>`: agents have no slash in their names. Null if it is neither. */
export const parseConversation = (text: string): string | ConversationRef | null => {
  const at = text.indexOf('/');
  const [agent, name] = at === -1 ? [null, text] : [text.slice(0, at), text.slice(at + 1)];
  if (agent === '' || name === '') return null;
  return agent === null ? name : { agent, name };
};

/** What an agent argument stands for: a name, and the files in which to find it. */
type AgentChoice = { readonly agent: string; readonly agents: readonly string[] };

/** `agent`: a name or a file. */
export const parseAgent = (agent: string, agents: readonly string[]): AgentChoice => {
  if (/\.ya?ml$/u.test(agent))
    throw new UsageError(`${agent} is a team file, not an agent file`, `cloister team ${agent} "<goal>"`);
  return isPath(agent) ? { agent: agentNameFromPath(agent), agents: [agent, ...agents] } : { agent, agents };
};

export const isPath = (agent: string): boolean => /[/\\]/u.test(agent) || isAgentPath(agent);

export const decimal = (text: string): number => {
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

/** Without the final line break, which the shell or an editor added. */
export const readInput = async (
  terminal: Pick<CliTerminal, 'stdin'>,
  what = 'input',
  advice = 'pass it in quotes, redirect a file with <, or pipe it in',
): Promise<string> => {
  const text = await terminal.stdin();
  if (text === null) throw new UsageError(`missing ${what}`, advice);
  return text.replace(/\r?\n$/u, '');
};

type GivenAgent = { readonly agent: string | null; readonly agents: readonly string[]; readonly config: string | null };

/** The agent that was named, or the default agent. Throws a UsageError, with `example`, if the config sets none either. */
export const agentOrDefault = async (
  { agent, agents, config }: GivenAgent,
  example: string,
  { defaultAgent }: Pick<CliRuntime, 'defaultAgent'>,
): Promise<AgentChoice> => {
  if (agent !== null) return parseAgent(agent, agents);
  const found = await defaultAgent(config);
  if (found !== null) return { agent: found, agents };
  throw new UsageError("missing required argument 'agent'", `${example}, or set \`defaultAgent\` in .ai-agent.json`);
};

/** Where a folder has no agents. */
export const createAgentsHint = 'Create some with `cloister init`, or pass an .ai file.';
