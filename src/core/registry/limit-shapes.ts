// The keys of `limits:`, which may also be set at the top level.
import { about, cap, named, whole } from '#base/shapes';
import type { Shape, ShapeFields, ShapeNotes } from '#base/shapes';
import { block, durationValue, parallelCalls } from './file-shapes.ts';

const count = (min: number): Shape => cap(whole(min));

/** The cell limits of the seed document, whose defaults differ between the root agent and sub-agents. */
const perRole = (example: number, called: number, run = 'no limit'): ShapeNotes => ({
  example,
  otherwise: `${called} as a sub-agent, otherwise ${run}`,
});

const both = (value: number): ShapeNotes => ({ example: value, default: value });

const fields = {
  maxToolTurns: about(count(0), 'Maximum turns with tool calls before it must answer.', both(10)),
  llmTimeout: about(
    durationValue,
    'Timeout of one model request. A shorter `timeout_ms` shortens its default.',
    both(120_000),
  ),
  toolTimeout: about(durationValue, 'Timeout of one tool call.', both(60_000)),
  maxRetries: about(count(0), 'Retries of a failed model request.', both(2)),
  maxToolCallsPerTurn: about(count(0), 'Maximum tool calls per turn; further calls are refused.', both(50)),
  parallelToolCalls: about(parallelCalls, 'Tool calls in parallel; true means 4, false means 1.', both(4)),
  maxOutputTokens: about(
    count(1),
    'Maximum output tokens per request; room for thinking comes on top. A small budget lowers its default to a quarter of it.',
    { example: 8_192, otherwise: "the model's maximum, or 8192 if unknown" },
  ),
  contextTokensMax: about(
    count(1),
    'Context window in tokens, including room for the answer; the prompt is compacted to fit.',
    { example: 100_000, otherwise: "the model's, or 128000 if unknown" },
  ),
  maxHops: about(
    count(0),
    'How often it may reply to the same agent within one chain of messages before that counts as a loop.',
    both(100),
  ),
  answersPerMinute: about(count(0), 'Maximum replies per minute to the same agent.', both(60)),
  max_steps: about(count(0), 'Maximum tool calls in total.', perRole(20, 20)),
  max_tokens_per_step: about(
    count(0),
    'Maximum tokens of one tool result shown to the model.',
    perRole(2_000, 2000, '4000'),
  ),
  max_output_files: about(count(0), 'Maximum files it may write.', perRole(10, 10)),
  max_output_size_bytes: about(count(0), 'Maximum bytes it may write in total.', perRole(1_000_000, 1_000_000)),
  timeout_ms: about(
    durationValue,
    'Working time of the whole session, without waiting for others. A longer `llmTimeout` lengthens its default.',
    perRole(600_000, 600_000),
  ),
  mailTimeout: about(
    durationValue,
    'How long it may wait for messages in total. Agents that were spawned may wait as long as they ask to.',
    perRole(600_000, 600_000),
  ),
  questionTimeout: about(
    durationValue,
    'How long a question to a person waits; then it counts as denied. The agent does not work meanwhile, so nothing else runs out.',
    both(86_400_000),
  ),
  maxTurns: about(count(0), 'Alias of `maxToolTurns`.', {
    example: 10,
    aliasOf: 'maxToolTurns',
    into: ['maxToolTurns'],
  }),
  toolResponseMaxBytes: about(
    count(0),
    'The same as `max_tokens_per_step`, in bytes: four bytes per token, rounded up.',
    {
      example: 8_000,
      aliasOf: 'max_tokens_per_step',
      into: ['max_tokens_per_step'],
      convert: { to: (bytes: number) => Math.ceil(bytes / 4), stored: whole() },
    },
  ),
} satisfies ShapeFields;

const limitFields: ShapeFields = Object.fromEntries(
  Object.entries(fields).map(([key, field]) => [key, { ...named(key, field), group: 'limits' }]),
);

const camelCase = (name: string): string => name.replaceAll(/_([a-z])/gu, (_, letter: string) => letter.toUpperCase());
const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`);

/** Every spelling of a limit in code, and the name under which it is stored: `maxSteps` and `max_steps` are the same. */
export const limitSpellings: ReadonlyMap<string, string> = new Map(
  Object.entries(fields as ShapeFields).flatMap(([key, { into }]) =>
    [key, camelCase(key), snakeCase(key)].map((spelling) => [spelling, into?.[0] ?? key] as const),
  ),
);

/** The same keys at the top level. */
export const flatLimitFields: ShapeFields = Object.fromEntries(
  Object.entries(limitFields).map(([key, field]) => [key, { ...field, into: ['limits', ...(field.into ?? [key])] }]),
);

export const limitsBlock = block({}, limitFields);
