// One message of a dialog, as chat completions and responses both write it.
import { CloisterError } from '#base';
import type { ClientRules } from '#contracts';
import type { BodyFields } from '#headends/shared';
import { toolsAreOwn } from './unsupported-fields.ts';

export type Message = { readonly by: 'person' | 'agent' | 'system'; readonly text: string };

/** Throws `request_invalid`, or `request_unsupported` for what is no text. Calls of its own tools are a client's to remember. */
export const parseDialogMessage = (message: BodyFields, rules: ClientRules): Message => {
  const by = authorOf(message);
  for (const field of rules.tools ? ['function_call'] : ['tool_calls', 'function_call']) {
    const calls = message.value[field];
    if (!Array.isArray(calls) || calls.length > 0) message.refuse(field, toolsAreOwn);
  }
  message.refuse('audio', 'an agent reads and writes text only.');
  // An answer of which nothing was text.
  if (by === 'agent' && !message.has('content')) return { by, text: '' };
  return { by, text: dialogText(message, 'content') };
};

const authorOf = (message: BodyFields): Message['by'] => {
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
      throw new CloisterError('request_unsupported', `${message.path('role')}: ${toolsAreOwn}`);
    default:
      throw message.invalid('role', 'user, assistant, system or developer');
  }
};

export const dialogText = (message: BodyFields, field: string): string => {
  const content = message.value[field];
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) throw message.invalid(field, 'a text or a list of parts');
  return message
    .items(field)
    .map((part) => partOf(part))
    .join('\n\n');
};

const partOf = (part: BodyFields): string => {
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
        `${part.path('type')}: only text can be sent to an agent, not ${JSON.stringify(type.slice(0, 40))}.`,
      );
  }
};
