// Inputs of a run that are not arguments: the task from stdin, and the default agent.
import type { CliRuntime, CliTerminal } from './cli-world.ts';
import { UsageError } from './errors.ts';
import { parseAgent } from './options.ts';
import type { AgentChoice } from './options.ts';

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
