// A client's system prompt: something to know for the agent, if the operator allows it; never its own system prompt.
import { CloisterError } from '#base';
import type { ClientRules } from '#contracts';
import { mayAllow } from '#headends/shared';

/** Throws `request_unsupported`. `field`: where it was given. Gives what the agent should know: a blank one is none. */
export const contextFromSystemPrompt = (text: string, field: string, rules: ClientRules): readonly string[] => {
  if (text.trim() === '') return [];
  if (rules.system) return [text];
  throw new CloisterError(
    'request_unsupported',
    `${field}: an agent has a system prompt of its own, and a client's is not taken here. ${mayAllow.system}`,
  );
};
