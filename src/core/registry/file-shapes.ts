// Shapes of what people write in agent and team files: references, names, durations, blocks of keys.
import { isObject } from '#base';
import { about, either, boolean, joinWithOr, object, orEmpty, pattern, string, whole } from '#base/shapes';
import type { Shape, ShapeFields, ShapeNotes } from '#base/shapes';
import { agentNameShape, budgetUnits, markNamePattern, modelNameShape, nameExpected } from '#contracts';
import type { Budget } from '#contracts';
import { durationExpected, durationShape, parseDuration } from './duration.ts';
import { topicExpected, topicShape } from './topic.ts';

/** Text for people. YAML reads `5` and `true` as something else. */
export const text: Shape<string> = {
  ...pattern('\\S', ''),
  expected: (value) => (typeof value === 'number' || typeof value === 'boolean' ? 'text (put it in quotes)' : 'text'),
};

/** A name that refers to something in the operator's config. A value that belongs there is not repeated: it may be a secret. */
const reference = (source: string, never: string, expected: string): Shape<string> =>
  withOperatorHint(pattern(source, expected, never), expected);

const withOperatorHint = (shape: Shape<string>, expected: string): Shape<string> => ({
  ...shape,
  expected,
  hint: (value) => {
    const found = typeof value === 'string' ? describeOperatorValue(value) : null;
    if (found === null) return null;
    return `Expected ${expected}, but this looks like ${found}: define it in the operator's .ai-agent.json, and refer to it here by name.`;
  },
});

const describeOperatorValue = (value: string): string | null => {
  if (value.includes('://')) return 'a URL';
  if (value.includes('${') || /^[A-Za-z_][A-Za-z0-9_]{0,80}=/u.test(value)) return 'an environment value';
  return /\s/u.test(value.trim()) ? 'a command' : null;
};

const urlOrVariable = '://|\\$\\{';

export const modelReference = (example: string): Shape<string> =>
  withOperatorHint(modelNameShape, `\`<provider>/<model>\`, such as ${example}`);

export const agentReference = reference(
  '^(?:[^\\s\\p{Cc}]{1,400}|[^\\s\\p{Cc}][^\\p{Cc}]{0,396}\\.ai)$',
  `${urlOrVariable}|^[A-Za-z_][A-Za-z0-9_]*=`,
  'the path of an `.ai` file, or an agent name',
);

export const skillReference = reference(
  '^[^\\p{Cc}]{1,400}$',
  urlOrVariable,
  'the path of a folder with skills, or the name of a skill',
);

export const toolReference = reference(
  '^[A-Za-z0-9_-]{1,64}(?:/[^\\s/]{1,128})?$',
  '\\$\\{',
  'a built-in tool (such as read_file or spawn_agent), `<server>`, or `<server>/<tool>`',
);

const toolMark = reference(
  markNamePattern,
  '\\$\\{',
  'the name of one of its tools or sub-agents, `<server>`, or `<server>/<tool>`',
);

/** What may be marked for approval: also agents, whose names as tools may contain dots. */
export const markReference: Shape<string> = {
  ...toolMark,
  hint: (value) =>
    isObject(value)
      ? 'Expected a list of names: an agent file only marks tools. Who may answer is set in `approve` of .ai-agent.json.'
      : (toolMark.hint?.(value) ?? null),
};

export const agentName: Shape<string> = { ...agentNameShape, expected: `an agent name: ${nameExpected}` };

export const topicName = pattern(topicShape, topicExpected);

/** Milliseconds, or a text with a unit. */
export const durationValue: Shape<number> = {
  ...either(
    durationExpected,
    { ...whole(), expected: durationExpected },
    { ...string(), pattern: durationShape, expected: durationExpected },
  ),
  convert: { to: (value: number | string) => parseDuration(value) ?? undefined, stored: whole() },
} as Shape<number>;

const parallelDefault = 4;
const parallelExpected = 'true, false, or a whole number, 1 or more';

/** The number of parallel tool calls. */
export const parallelCalls: Shape<number> = {
  ...either(parallelExpected, boolean(), { ...whole(1), expected: parallelExpected }),
  convert: {
    to: (value: number | boolean) => (typeof value === 'number' ? value : value ? parallelDefault : 1),
    stored: whole(1),
  },
} as Shape<number>;

/** A block of keys. */
export const block = (required: ShapeFields, optional: ShapeFields = {}): Shape => {
  const keys = Object.entries({ ...required, ...optional }).filter(([, { aliasOf }]) => aliasOf === undefined);
  return {
    ...object(required, optional),
    expected: `a block with ${joinWithOr(keys.map(([key]) => `\`${key}\``))}`,
  };
};

export const mapExpected = 'a block with a value for each name';

const { ms, ...units } = budgetUnits;

/** In a file, the time may have a unit. */
export const budgetBlock = orEmpty(
  block(
    {},
    {
      ...units,
      time: about(durationValue, 'Maximum time.', { example: '10m', otherwise: 'no limit', into: ['ms'] }),
      ms: about(durationValue, 'Alias of `time`.', { ...exampleOf(ms), otherwise: 'no limit', aliasOf: 'time' }),
    },
  ),
) as Shape<Budget>;

function exampleOf({ example }: ShapeNotes): ShapeNotes {
  return example === undefined ? {} : { example };
}
