// Checks a request for a resident before anything is recorded or spent.
import type { Agent, ResidentOptions } from '#contracts';
import { checkRequest } from '#core/orchestration';
import type { SharedPorts } from './run-world.ts';
import { checkTopic } from './check-run-command.ts';
import { checkOptions, runOptions } from './conversations/check-options.ts';

/** Returns the goal as it crosses; null when the agent starts by waiting for messages. */
export const checkResident = (
  agent: Agent,
  options: ResidentOptions,
  { validate, resources }: Pick<SharedPorts, 'validate' | 'resources'>,
): string | null => {
  checkOptions(options, { ...runOptions, message: 'any', topics: 'texts' });
  const { message, topics = [], budget } = options;
  for (const topic of topics) checkTopic(topic, agent.topics.hear, `called "${agent.name}" may subscribe to`);
  if (message !== undefined)
    return checkRequest(agent, message, budget, { validate, resourcesFor: (one) => resources.resourcesFor(one) });
  // Messages are text, whatever input format the agent's goals have.
  const textAgent: Agent = { ...agent, input: { format: 'text' } };
  checkRequest(textAgent, 'mail', budget, {
    validate,
    resourcesFor: (one) => resources.resourcesFor(one === textAgent ? agent : one),
  });
  return null;
};
