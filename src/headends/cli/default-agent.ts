// The default agent, for commands that name none.
import type { CliWorld } from './cli-world.ts';
import { UsageError } from './usage-error.ts';

type RequestWithAgent = { readonly command: string; readonly agent: string | null; readonly config: string | null };

/** Throws a UsageError if the config sets no default agent either. */
export const withDefaultAgent = async <T extends RequestWithAgent>(
  request: T,
  { defaultAgent }: Pick<CliWorld, 'defaultAgent'>,
): Promise<T & { readonly agent: string }> => {
  const agent = request.agent ?? (await defaultAgent(request.config ?? undefined));
  if (agent !== null) return { ...request, agent };
  const example = request.command === 'run' ? 'cloister run <agent> "<input>"' : `cloister ${request.command} <agent>`;
  throw new UsageError("missing required argument 'agent'", `${example}, or set \`defaultAgent\` in .ai-agent.json`);
};
