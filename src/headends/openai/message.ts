// Parses one message of a dialog, in the form that chat completions and responses share.
import { CloisterError } from '#base';
import type { ClientRules } from '#contracts';
import { operatorHints } from '#headends/shared';
import type { BodyFields } from '#headends/shared';
import { noClientTools } from './unsupported-fields.ts';

type OpenaiMessage = { readonly by: 'person' | 'agent' | 'system'; readonly text: string };

/** Throws `request_invalid`, or `request_unsupported` for content other than text. Calls of client tools are ignored: the client remembers them. */
export const parseDialogMessage = (message: BodyFields, rules: ClientRules): OpenaiMessage => {
  const by = parseAuthor(message);
  for (const field of rules.tools ? ['function_call'] : ['tool_calls', 'function_call']) {
    const calls = message.value[field];
    if (!Array.isArray(calls) || calls.length > 0) message.refuse(field, noClientTools);
  }
  message.refuse('audio', 'agents only read and write text.');
  // An answer that consisted of tool calls only.
  if (by === 'agent' && !message.has('content')) return { by, text: '' };
  return { by, text: dialogText(message, 'content') };
};

const parseAuthor = (message: BodyFields): OpenaiMessage['by'] => {
  switch (message.oneOf('role', ['user', 'assistant', 'system', 'developer', 'tool', 'function'])) {
    case 'user':
      return 'person';
    case 'assistant':
      return 'agent';
    case 'system':
    case 'developer':
      return 'system';
    case 'tool':
    case 'function':
      throw new CloisterError('request_unsupported', `${message.path('role')}: ${noClientTools}`);
    default:
      throw message.invalid('role', 'user, assistant, system or developer');
  }
};

export const dialogText = (message: BodyFields, field: string): string => {
  const content = message.value[field];
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) throw message.invalid(field, 'a string or an array of parts');
  return message
    .items(field)
    .map((part) => parsePart(part))
    .join('\n\n');
};

const parsePart = (part: BodyFields): string => {
  const type = part.text('type');
  switch (type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return part.text('text');
    case 'refusal':
      return part.text('refusal');
    default:
      throw new CloisterError(
        'request_unsupported',
        `${part.path('type')}: only text is supported, not ${JSON.stringify(type.slice(0, 40))}.`,
      );
  }
};

// A client's system prompt follows the agent's own, if the operator allows it. It never replaces that.
/** Throws `request_unsupported`. `field`: the field that holds the prompt, for the error. A blank prompt is none. */
export const allowedSystem = (text: string, field: string, rules: ClientRules): readonly string[] => {
  if (text.trim() === '') return [];
  if (rules.system) return [text];
  throw new CloisterError(
    'request_unsupported',
    `${field}: client system prompts are not allowed here; the agent has its own. ${operatorHints.system}`,
  );
};
