// Says what is wrong with a request for a session that lives on, before anything is recorded or spent.
import type { Agent, ResidentOptions } from '#contracts';
import { checkRequest } from '#core/orchestration';
import type { Shared } from './run-world.ts';
import { checkTopic } from './check-mail.ts';
import { checkOptions, runOptions } from './conversations/check-options.ts';

/** The goal as it crosses; null when it is to wait for mail. */
export const checkResident = (
  agent: Agent,
  options: ResidentOptions,
  { validate, equipped }: Pick<Shared, 'validate' | 'equipped'>,
): string | null => {
  checkOptions(options, { ...runOptions, message: 'any', topics: 'texts' });
  const { message, topics = [], budget } = options;
  for (const topic of topics) checkTopic(topic, agent.topics.hear, `called "${agent.name}" may hear`);
  if (message !== undefined)
    return checkRequest(agent, message, budget, { validate, equip: (one) => equipped.equip(one) });
  // Whatever form its goals have: mail is text.
  const taking: Agent = { ...agent, input: { format: 'text' } };
  checkRequest(taking, 'mail', budget, { validate, equip: (one) => equipped.equip(one === taking ? agent : one) });
  return null;
};
