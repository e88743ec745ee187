// Patterns of names and references that several keys use.
import type { FieldKind } from './field-kinds.ts';

export const nameShape = '[A-Za-z0-9_.-]{1,64}';
export const urlOrVariable = '://|\\$\\{';

type WordKind = Extract<FieldKind, { is: 'word' }>;

export const agentReference: WordKind = {
  is: 'word',
  shape: '^(?:[^\\s\\p{Cc}]{1,400}|[^\\s\\p{Cc}][^\\p{Cc}]{0,396}\\.ai)$',
  never: `${urlOrVariable}|^[A-Za-z_][A-Za-z0-9_]*=`,
  expected: 'the path of an `.ai` file, or an agent name',
  operators: true,
};

export const toolReference: WordKind = {
  is: 'word',
  shape: '^[A-Za-z0-9_-]{1,64}(?:/[^\\s/]{1,128})?$',
  never: '\\$\\{',
  expected: 'a built-in tool (such as read_file or spawn_agent), `<server>`, or `<server>/<tool>`',
  operators: true,
};

/** The pattern of agent names. */
export const agentNameKind = {
  shape: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$',
  never: '\\.\\.',
  expected: 'an agent name: letters, digits, dot, dash and underscore, at most 64 characters',
} as const;
