// The shapes of `defineAgent` and `defineTeam`: those of the files, as they are stored, with objects in place of references.
import { isObject } from '#base';
import {
  either,
  boolean,
  listOf,
  mapOf,
  object,
  oneOf,
  openObject,
  pattern,
  problemsIn,
  storedShape,
  string,
  valueOf,
  whole,
  withRules,
} from '#base/shapes';
import type { ObjectForm, Shape, ShapeFields } from '#base/shapes';
import { agentNameShape, approvalRulesShape, priceShape } from '#contracts';
import type { Agent, AgentOptions, BuiltinTool, Model, TeamOptions, ToolDefinition } from '#contracts';
import { frontmatterShape, modelSettingsShape, teamShape } from '#core/registry';
import { builtinSchemas } from '#core/session';

/** Throws. */
export type RejectField = (field: string, expected: string) => never;

const fieldsOf = (shape: Shape): ShapeFields => (shape as Shape & ObjectForm).fields;
const agentKeys = fieldsOf(storedShape(frontmatterShape));
const teamKeys = fieldsOf(storedShape(teamShape));

const agent = valueOf<Agent>('an agent created with defineAgent', (value) => isObject(value) && 'digest' in value);

const languageOf = (model: unknown): unknown => (isObject(model) && 'language' in model ? model['language'] : model);

const modelExpected = '<provider>/<model>, or an AI SDK language model (an object with doStream)';

/** A model: an object, or its name in the operator's config. */
export const modelShape = either(
  modelExpected,
  pattern('^[A-Za-z0-9_.-]{1,64}/\\S{1,200}$', modelExpected),
  withRules(
    valueOf<Model>(
      modelExpected,
      (value) => typeof (languageOf(value) as { doStream?: unknown } | null)?.doStream === 'function',
    ),
    {
      find: ({ price }: Partial<Model>) =>
        price === undefined || problemsIn(priceShape, price).length === 0
          ? null
          : {
              at: ['price'],
              text: 'expected dollars per million tokens: input, output, and optionally cacheRead and cacheWrite.',
            },
    },
  ),
);

const toolName = pattern(
  '^[A-Za-z0-9_-]{1,64}$',
  'a name of letters, digits, dash and underscore, at most 64 characters',
);

const fn = valueOf<ToolDefinition['execute']>('a function', (value) => typeof value === 'function');

/** A tool that is given as an object. */
export const toolShape = {
  ...openObject(
    {
      name: toolName,
      execute: fn,
      description: string(),
      inputSchema: valueOf<object>(
        'a JSON Schema for an object',
        (value) => typeof value === 'object' && value !== null,
      ),
    },
    {
      repeat: oneOf('free', 'keyed', 'never'),
      approve: valueOf<NonNullable<ToolDefinition['approve']>>(
        'true, or a function of the arguments',
        (value) => value === true || typeof value === 'function',
      ),
    },
  ),
  expected: 'a tool object',
};

export const builtins = Object.keys(builtinSchemas).filter((name) => name !== 'read_output') as readonly BuiltinTool[];

const toolText = pattern(
  '^[A-Za-z0-9_-]{1,64}(?:/[^\\s/]{1,128})?$',
  `a tool object, one of ${builtins.join(', ')}, or <server>/<tool>`,
);

/** A source of tools, which lists them when a session starts. */
const sourceShape = withRules(
  valueOf('a tool source', (value) => isObject(value) && 'list' in value),
  {
    find: ({ name, list }: { readonly name?: unknown; readonly list?: unknown }) => {
      if (typeof list !== 'function') return { at: ['list'], text: 'expected a function.' };
      const [wrong] = problemsIn(toolName, name);
      return wrong === undefined ? null : { at: ['name'], text: `expected ${toolName.expected as string}.` };
    },
  },
);

const skillNameExpected = 'a name of lower-case letters, digits and single hyphens, at most 64 characters';

const skillFile = either(
  'a text, or the size of a file that is no text',
  string(),
  object({ bytes: whole(), why: string() }, { sha256: string() }),
);

const skillShape = {
  ...object(
    {
      name: pattern('^(?=.{1,64}$)[a-z0-9]+(?:-[a-z0-9]+)*$', skillNameExpected),
      description: pattern('^[^]{0,1024}$', 'at most 1,024 characters that say what it is for', '^\\s*$'),
      instructions: string(),
    },
    { files: mapOf(skillFile, pattern('^[^]{1,400}$', 'a path of at most 400 characters')) },
  ),
  expected: 'a skill: { name, description, instructions, files? }, as loadSkills returns them',
};

const agentOrName = 'an agent created with defineAgent, the name of one, or "self"';

const spawnsShape = {
  ...object(
    {},
    {
      ...fieldsOf(agentKeys['spawns']!),
      agents: listOf(either(agentOrName, { ...agentNameShape, expected: agentOrName }, agent)),
      templates: either('true, false, or { tools: […] }', boolean(), object({}, { tools: listOf(string()) })),
      // The rules of another agent have this key.
      self: boolean(),
    },
  ),
  expected: 'an object, such as { agents: [fighter] }',
};

const sentence = (whose: string): Shape<string> => pattern('\\S', `a sentence that says what the ${whose} does`);

export const agentOptionsShape = object(
  { name: agentNameShape, description: sentence('agent'), prompt: string() },
  {
    ...agentKeys,
    usage: string(),
    toolName: agentNameShape,
    models: listOf(modelShape),
    compaction: modelShape,
    tools: listOf(either(toolText.expected as string, toolText, sourceShape, toolShape)),
    skills: listOf(skillShape),
    agents: listOf(agent),
    gather: object({ timeoutMs: whole() }),
    settings: modelSettingsShape,
    budgetGroup: agentNameShape,
    spawns: spawnsShape,
    topics: { ...agentKeys['topics']!, expected: 'a list, or { hear: […], say: […] }' },
    approve: either(
      "a list of tools, or an object such as { 'mail/send': { by: ['ops'] } }",
      agentKeys['approve']!,
      approvalRulesShape,
    ),
  },
) as Shape<AgentOptions>;

const { tasks: _tasks, ...teamOptionKeys } = teamKeys;

export const teamOptionsShape = object(
  { name: agentNameShape, agents: withRules(listOf(agent), { find: atLeastOne }) },
  {
    ...teamOptionKeys,
    description: sentence('team'),
    coordinator: agent,
    backOffMs: whole(0, 3_600_000),
  },
) as Shape<TeamOptions>;

function atLeastOne(agents: readonly unknown[]) {
  return agents.length > 0 ? null : { text: 'expected at least one agent.' };
}
