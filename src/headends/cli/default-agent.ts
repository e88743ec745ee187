// The agent that a command means when it names none.
import type { CliWorld } from './cli-world.ts';
import { UsageError } from './usage-error.ts';

type Asked = { readonly command: string; readonly agent: string | null; readonly config: string | null };

/** Throws a UsageError when no config names one either. */
export const withDefault = async <T extends Asked>(
  request: T,
  { defaultAgent }: Pick<CliWorld, 'defaultAgent'>,
): Promise<T & { readonly agent: string }> => {
  const agent = request.agent ?? (await defaultAgent(request.config ?? undefined));
  if (agent !== null) return { ...request, agent };
  const example = request.command === 'run' ? 'cloister run <agent> "<input>"' : `cloister ${request.command} <agent>`;
  throw new UsageError(
    "missing required argument 'agent'",
    `${example}, or name one as \`defaultAgent\` in .ai-agent.json`,
  );
};
