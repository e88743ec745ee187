// The keys of `limits:` and `budget:`. Limits may also be set at the top level.
import type { FrontmatterField, FieldKind, NumberRule } from './field-kinds.ts';

const countKind = (min: number): FieldKind => ({ is: 'number', rule: { min, whole: true } });

type FieldDetails = Pick<FrontmatterField, 'kind' | 'description' | 'example'> & Partial<FrontmatterField>;

const limitField = (key: string, details: FieldDetails): FrontmatterField => ({
  key,
  group: 'limits',
  into: ['limits', key],
  ...details,
});

/** The cell limits of the seed document, whose defaults differ between the root agent and sub-agents. */
const cellLimit = (key: string, details: FieldDetails, called: string, run = 'no limit'): FrontmatterField =>
  limitField(key, { ...details, otherwise: `${called} as a sub-agent, otherwise ${run}` });

export const limitFields: readonly FrontmatterField[] = [
  limitField('maxToolTurns', {
    kind: countKind(0),
    description: 'Maximum turns with tool calls before it must answer.',
    example: 10,
    default: 10,
  }),
  limitField('llmTimeout', {
    kind: { is: 'duration' },
    description: 'Timeout of one model request. A shorter `timeout_ms` shortens its default.',
    example: 120_000,
    default: 120_000,
  }),
  limitField('toolTimeout', {
    kind: { is: 'duration' },
    description: 'Timeout of one tool call.',
    example: 60_000,
    default: 60_000,
  }),
  limitField('maxRetries', {
    kind: countKind(0),
    description: 'Retries of a failed model request.',
    example: 2,
    default: 2,
  }),
  limitField('maxToolCallsPerTurn', {
    kind: countKind(0),
    description: 'Maximum tool calls per turn; further calls are refused.',
    example: 50,
    default: 50,
  }),
  limitField('parallelToolCalls', {
    kind: { is: 'parallel' },
    description: 'Tool calls in parallel; true means 4, false means 1.',
    example: 4,
    default: 4,
  }),
  limitField('maxOutputTokens', {
    kind: countKind(1),
    description:
      'Maximum output tokens per request; room for thinking comes on top. A small budget lowers its default to a quarter of it.',
    example: 8_192,
    otherwise: "the model's maximum, or 8192 if unknown",
  }),
  limitField('contextTokensMax', {
    kind: countKind(1),
    description: 'Context window in tokens, including room for the answer; the prompt is compacted to fit.',
    example: 100_000,
    otherwise: "the model's, or 128000 if unknown",
  }),
  limitField('maxHops', {
    kind: countKind(0),
    description: 'How often it may reply to the same agent within one chain of messages before that counts as a loop.',
    example: 100,
    default: 100,
  }),
  limitField('answersPerMinute', {
    kind: countKind(0),
    description: 'Maximum replies per minute to the same agent.',
    example: 60,
    default: 60,
  }),
  cellLimit('max_steps', { kind: countKind(0), description: 'Maximum tool calls in total.', example: 20 }, '20'),
  cellLimit(
    'max_tokens_per_step',
    { kind: countKind(0), description: 'Maximum tokens of one tool result shown to the model.', example: 2_000 },
    '2000',
    '4000',
  ),
  cellLimit('max_output_files', { kind: countKind(0), description: 'Maximum files it may write.', example: 10 }, '10'),
  cellLimit(
    'max_output_size_bytes',
    { kind: countKind(0), description: 'Maximum bytes it may write in total.', example: 1_000_000 },
    '1000000',
  ),
  cellLimit(
    'timeout_ms',
    {
      kind: { is: 'duration' },
      description:
        'Working time of the whole session, without waiting for others. A longer `llmTimeout` lengthens its default.',
      example: 600_000,
    },
    '600000',
  ),
  cellLimit(
    'mailTimeout',
    {
      kind: { is: 'duration' },
      description:
        'How long it may wait for messages in total. Agents that were spawned may wait as long as they ask to.',
      example: 600_000,
    },
    '600000',
  ),
  limitField('maxTurns', {
    kind: countKind(0),
    description: 'Alias of `maxToolTurns`.',
    example: 10,
    aliasOf: 'maxToolTurns',
    into: ['limits', 'maxToolTurns'],
  }),
  limitField('toolResponseMaxBytes', {
    kind: countKind(0),
    description: 'The same as `max_tokens_per_step`, in bytes: four bytes per token, rounded up.',
    example: 8_000,
    aliasOf: 'max_tokens_per_step',
    into: ['limits', 'max_tokens_per_step'],
    divideBy: 4,
  }),
];

const budgetField = (key: string, details: FieldDetails): FrontmatterField => ({
  key,
  group: 'budget',
  into: ['budget', key],
  otherwise: 'no limit',
  ...details,
});

export const budgetFields: readonly FrontmatterField[] = [
  budgetField('tokens', { kind: countKind(0), description: 'Input and output tokens.', example: 200_000 }),
  budgetField('usd', {
    kind: { is: 'number', rule: { min: 0, whole: false } },
    description: 'US dollars; every model must have a price.',
    example: 0.5,
  }),
  budgetField('spawns', { kind: countKind(0), description: 'Number of sub-agents started.', example: 10 }),
  budgetField('memory', {
    kind: countKind(0),
    description: 'Memory in bytes of the agent and all its sub-agents: windows, mailboxes, journals, outputs.',
    example: 50_000_000,
  }),
  budgetField('time', {
    kind: { is: 'duration' },
    description: 'Maximum time.',
    example: '10m',
    into: ['budget', 'ms'],
  }),
  budgetField('ms', {
    kind: { is: 'duration' },
    description: 'Alias of `time`.',
    example: 600_000,
    aliasOf: 'time',
  }),
];

const numberRule = (kind: FieldKind): NumberRule =>
  kind.is === 'number' ? kind.rule : { min: kind.is === 'parallel' ? 1 : 0, whole: true };

/** The rules for numbers, by dotted key of the parsed frontmatter: `limits.maxRetries`, `budget.usd`. */
export const numberRules: ReadonlyMap<string, NumberRule> = new Map(
  [...limitFields, ...budgetFields].flatMap(({ aliasOf, into, kind }) =>
    aliasOf === undefined && into !== undefined ? [[into.join('.'), numberRule(kind)] as const] : [],
  ),
);
