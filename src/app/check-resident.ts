// Checks a request for a resident before anything is recorded or spent.
import type { Agent, ResidentOptions } from '#contracts';
import { checkRequest } from '#core/orchestration';
import type { SharedPorts } from './shared-ports.ts';
import { checkTopic } from './check-run-command.ts';
import { checkOptions, runOptions } from '#app/conversations';

/** Returns the goal as it crosses; null when the agent starts by waiting for messages. */
export const checkResident = (
  agent: Agent,
  options: ResidentOptions,
  { validate, resources }: Pick<SharedPorts, 'validate' | 'resources'>,
): string | null => {
  checkOptions(options, { ...runOptions, message: 'any', topics: 'texts' });
  const { message, topics = [], budget } = options;
  for (const topic of topics) checkTopic(topic, agent.topics.hear, `called "${agent.name}" may subscribe to`);
  const ports = { validate, modelsOf: (one: Agent) => resources.modelsOf(one) };
  if (message !== undefined) return checkRequest(agent, message, budget, ports);
  // Messages are text, whatever input format the agent's goals have.
  checkRequest({ ...agent, input: { format: 'text' } }, 'mail', budget, ports);
  return null;
};
