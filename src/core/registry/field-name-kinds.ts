// Words of certain shapes that several keys take.
import type { Kind } from './field-kinds.ts';

export const nameShape = '[A-Za-z0-9_.-]{1,64}';
/** Neither an address nor a variable. */
export const plainWords = '(?!.*(?:://|\\$\\{))';

type Word = Extract<Kind, { is: 'word' }>;

export const agentReference: Word = {
  is: 'word',
  shape: `^${plainWords}(?![A-Za-z_][A-Za-z0-9_]*=)(?:[^\\s\\p{Cc}]{1,400}|[^\\s\\p{Cc}][^\\p{Cc}]{0,396}\\.ai)$`,
  expected: 'the path of an `.ai` file, or the name of an agent',
  operators: true,
};

export const toolReference: Word = {
  is: 'word',
  shape: '^(?!.*\\$\\{)[A-Za-z0-9_-]{1,64}(?:/[^\\s/]{1,128})?$',
  expected: 'a tool of the runtime (read_file, spawn_agent and so on), `<server>`, or `<server>/<tool>`',
  operators: true,
};

/** As agents are called. */
export const agentNameKind = {
  shape: '^(?!.*\\.\\.)[A-Za-z0-9][A-Za-z0-9._-]{0,63}$',
  expected: 'the name of an agent: letters, digits, dot, dash and underscore, at most 64 characters',
} as const;
