// A client's system prompt follows the agent's own, if the operator allows it. It never replaces that.
import { CloisterError } from '#base';
import type { ClientRules } from '#contracts';
import { operatorHints } from './client-failure.ts';

/** Throws `request_unsupported`. `field`: the field that holds the prompt, for the error. A blank prompt is none. */
export const allowedSystem = (text: string, field: string, rules: ClientRules): readonly string[] => {
  if (text.trim() === '') return [];
  if (rules.system) return [text];
  throw new CloisterError(
    'request_unsupported',
    `${field}: client system prompts are not allowed here; the agent has its own. ${operatorHints.system}`,
  );
};
