// A client's system prompt becomes context for the agent, if the operator allows it. It never replaces the agent's own system prompt.
import { CloisterError } from '#base';
import type { ClientRules } from '#contracts';
import { operatorHints } from '#headends/shared';

/** Throws `request_unsupported`. `field`: the field that holds the prompt, for the error. A blank prompt adds no context. */
export const contextFromSystemPrompt = (text: string, field: string, rules: ClientRules): readonly string[] => {
  if (text.trim() === '') return [];
  if (rules.system) return [text];
  throw new CloisterError(
    'request_unsupported',
    `${field}: client system prompts are not allowed here; the agent has its own. ${operatorHints.system}`,
  );
};
