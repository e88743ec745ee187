// The keys of `limits:` and `budget:`. Limits may stand at the top level as well.
import type { FrontmatterField, Kind, NumberRule } from './field-kinds.ts';

const count = (min: number): Kind => ({ is: 'number', rule: { min, whole: true } });

type More = Pick<FrontmatterField, 'kind' | 'description' | 'example'> & Partial<FrontmatterField>;

const limit = (key: string, more: More): FrontmatterField => ({ key, group: 'limits', into: ['limits', key], ...more });

/** The document's limits of a cell: another default for the agent that is run than for those that it calls. */
const cellLimit = (key: string, more: More, called: string, run = 'no limit'): FrontmatterField =>
  limit(key, { ...more, otherwise: `${called} as a sub-agent, otherwise ${run}` });

export const limitFields: readonly FrontmatterField[] = [
  limit('maxToolTurns', {
    kind: count(0),
    description: 'Maximum turns with tool calls before it must answer.',
    example: 10,
    default: 10,
  }),
  limit('llmTimeout', {
    kind: { is: 'duration' },
    description: 'Timeout of one model request.',
    example: 120_000,
    default: 120_000,
  }),
  limit('toolTimeout', {
    kind: { is: 'duration' },
    description: 'Timeout of one tool call.',
    example: 60_000,
    default: 60_000,
  }),
  limit('maxRetries', {
    kind: count(0),
    description: 'Retries of a failed model request.',
    example: 2,
    default: 2,
  }),
  limit('maxToolCallsPerTurn', {
    kind: count(0),
    description: 'Maximum tool calls per turn; further calls are refused.',
    example: 50,
    default: 50,
  }),
  limit('parallelToolCalls', {
    kind: { is: 'parallel' },
    description: 'Tool calls in parallel; true means 4, false means 1.',
    example: 4,
    default: 4,
  }),
  limit('maxOutputTokens', {
    kind: count(1),
    description: 'Maximum output tokens per request.',
    example: 8_192,
    otherwise: "the model's maximum, or 8192 if unknown",
  }),
  limit('contextTokensMax', {
    kind: count(1),
    description: 'Context window in tokens, including room for the answer; the prompt is compacted to fit.',
    example: 100_000,
    otherwise: "the model's, or 128000 if unknown",
  }),
  limit('maxHops', {
    kind: count(0),
    description: 'Maximum length of a reply chain before it counts as a loop.',
    example: 100,
    default: 100,
  }),
  limit('answersPerMinute', {
    kind: count(0),
    description: 'Maximum replies per minute to the same agent.',
    example: 60,
    default: 60,
  }),
  cellLimit('max_steps', { kind: count(0), description: 'Maximum tool calls in total.', example: 20 }, '20'),
  cellLimit(
    'max_tokens_per_step',
    { kind: count(0), description: 'Maximum tokens of one tool result shown to the model.', example: 2_000 },
    '2000',
    '4000',
  ),
  cellLimit('max_output_files', { kind: count(0), description: 'Maximum files it may write.', example: 10 }, '10'),
  cellLimit(
    'max_output_size_bytes',
    { kind: count(0), description: 'Maximum bytes it may write in total.', example: 1_000_000 },
    '1000000',
  ),
  cellLimit(
    'timeout_ms',
    { kind: { is: 'duration' }, description: 'Timeout of the whole session.', example: 60_000 },
    '60000',
  ),
  limit('maxTurns', {
    kind: count(0),
    description: 'Alias of `maxToolTurns`.',
    example: 10,
    aliasOf: 'maxToolTurns',
    into: ['limits', 'maxToolTurns'],
  }),
  limit('toolResponseMaxBytes', {
    kind: count(0),
    description: 'The same as `max_tokens_per_step`, in bytes: four bytes per token, rounded up.',
    example: 8_000,
    aliasOf: 'max_tokens_per_step',
    into: ['limits', 'max_tokens_per_step'],
    divideBy: 4,
  }),
];

const amount = (key: string, more: More): FrontmatterField => ({
  key,
  group: 'budget',
  into: ['budget', key],
  otherwise: 'no limit',
  ...more,
});

export const budgetFields: readonly FrontmatterField[] = [
  amount('tokens', { kind: count(0), description: 'Input and output tokens.', example: 200_000 }),
  amount('usd', {
    kind: { is: 'number', rule: { min: 0, whole: false } },
    description: 'US dollars; every model must have a price.',
    example: 0.5,
  }),
  amount('spawns', { kind: count(0), description: 'Number of sub-agents started.', example: 10 }),
  amount('memory', {
    kind: count(0),
    description: 'Memory in bytes of the agent and all its sub-agents: windows, mailboxes, journals, outputs.',
    example: 50_000_000,
  }),
  amount('time', {
    kind: { is: 'duration' },
    description: 'Maximum time.',
    example: '10m',
    into: ['budget', 'ms'],
  }),
  amount('ms', {
    kind: { is: 'duration' },
    description: 'Alias of `time`.',
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
