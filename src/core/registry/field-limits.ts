// The keys of `limits:` and `budget:`. Limits may stand at the top level as well.
import type { Field, Kind, NumberRule } from './field-kinds.ts';

const count = (min: number): Kind => ({ is: 'number', rule: { min, whole: true } });

type More = Pick<Field, 'kind' | 'description' | 'example'> & Partial<Field>;

const limit = (key: string, more: More): Field => ({ key, group: 'limits', into: ['limits', key], ...more });

/** The document's limits of a cell: another default for the agent that is run than for those that it calls. */
const cellLimit = (key: string, more: More, called: string, run = 'none'): Field =>
  limit(key, { ...more, otherwise: `${called} as a sub-agent, else ${run}` });

export const limitFields: readonly Field[] = [
  limit('maxToolTurns', {
    kind: count(0),
    description: 'Replies with tool calls, before it must answer.',
    example: 10,
    default: 10,
  }),
  limit('llmTimeout', {
    kind: { is: 'duration' },
    description: 'How long one request to a model may take.',
    example: 120_000,
    default: 120_000,
  }),
  limit('toolTimeout', {
    kind: { is: 'duration' },
    description: 'How long one tool call may take.',
    example: 60_000,
    default: 60_000,
  }),
  limit('maxRetries', {
    kind: count(0),
    description: 'How often a failed request is tried again.',
    example: 2,
    default: 2,
  }),
  limit('maxToolCallsPerTurn', {
    kind: count(0),
    description: 'Tool calls in one reply; what is more is refused.',
    example: 50,
    default: 50,
  }),
  limit('parallelToolCalls', {
    kind: { is: 'parallel' },
    description: 'Tool calls at once; true is 4, false is 1.',
    example: 4,
    default: 4,
  }),
  limit('maxOutputTokens', {
    kind: count(1),
    description: 'Tokens of one reply.',
    example: 8_192,
    otherwise: 'as the model has it, else 8192',
  }),
  limit('contextTokensMax', {
    kind: count(1),
    description: 'Tokens of the prompt, before it is compacted.',
    example: 100_000,
    otherwise: 'as the model has it',
  }),
  limit('maxHops', {
    kind: count(0),
    description: 'Messages that may lead to one another, before it counts as a loop.',
    example: 100,
    default: 100,
  }),
  limit('answersPerMinute', {
    kind: count(0),
    description: 'How often it may answer one and the same agent in a minute.',
    example: 60,
    default: 60,
  }),
  cellLimit('max_steps', { kind: count(0), description: 'Tool calls in all.', example: 20 }, '20'),
  cellLimit(
    'max_tokens_per_step',
    { kind: count(0), description: 'Tokens of one tool result that the model is shown.', example: 2_000 },
    '2000',
    '4000',
  ),
  cellLimit('max_output_files', { kind: count(0), description: 'Files that it may write.', example: 10 }, '10'),
  cellLimit(
    'max_output_size_bytes',
    { kind: count(0), description: 'Bytes that it may write, in all.', example: 1_000_000 },
    '1000000',
  ),
  cellLimit(
    'timeout_ms',
    { kind: { is: 'duration' }, description: 'How long the whole session may take.', example: 60_000 },
    '60000',
  ),
  limit('maxTurns', {
    kind: count(0),
    description: 'Another spelling of `maxToolTurns`.',
    example: 10,
    aliasOf: 'maxToolTurns',
    into: ['limits', 'maxToolTurns'],
  }),
  limit('toolResponseMaxBytes', {
    kind: count(0),
    description: 'Another way to say `max_tokens_per_step`: four bytes to a token, rounded up.',
    example: 8_000,
    aliasOf: 'max_tokens_per_step',
    into: ['limits', 'max_tokens_per_step'],
    divideBy: 4,
  }),
];

const amount = (key: string, more: More): Field => ({
  key,
  group: 'budget',
  into: ['budget', key],
  otherwise: 'not capped',
  ...more,
});

export const budgetFields: readonly Field[] = [
  amount('tokens', { kind: count(0), description: 'Tokens in and out.', example: 200_000 }),
  amount('usd', {
    kind: { is: 'number', rule: { min: 0, whole: false } },
    description: 'Dollars; every model must have a price.',
    example: 0.5,
  }),
  amount('spawns', { kind: count(0), description: 'Sub-agents started.', example: 10 }),
  amount('memory', {
    kind: count(0),
    description: 'Bytes that it and all below it hold at one time: windows, mailboxes, journals, outputs.',
    example: 50_000_000,
  }),
  amount('time', {
    kind: { is: 'duration' },
    description: 'How long it may take.',
    example: '10m',
    into: ['budget', 'ms'],
  }),
  amount('ms', {
    kind: { is: 'duration' },
    description: 'Another spelling of `time`.',
    example: 600_000,
    aliasOf: 'time',
  }),
];

const ruleOf = (kind: Kind): NumberRule =>
  kind.is === 'number' ? kind.rule : { min: kind.is === 'parallel' ? 1 : 0, whole: true };

/** The rules for numbers, by dotted key of the checked frontmatter: `limits.maxRetries`, `budget.usd`. */
export const numberRules: ReadonlyMap<string, NumberRule> = new Map(
  [...limitFields, ...budgetFields].flatMap(({ aliasOf, into, kind }) =>
    aliasOf === undefined && into !== undefined ? [[into.join('.'), ruleOf(kind)] as const] : [],
  ),
);
