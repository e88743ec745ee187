// Every key of the frontmatter, once. Reading, template, JSON Schema, the tables in the docs and the options in code follow from it.
import {
  about,
  amount,
  boolean,
  jsonObject,
  object,
  oneOf,
  oneOrMore,
  orEmpty,
  pattern,
  whole,
  withRules,
  withShort,
  jsonSchemaOf,
  namedSchemas,
} from '#base/shapes';
import type { ObjectForm, Shape, ShapeFields, ShapeNotes } from '#base/shapes';
import { answerFormatShape, nameExpected } from '#contracts';
import type { ModelSettings, OutputFormat } from '#contracts';
import {
  agentReference,
  block,
  budgetBlock,
  durationValue,
  markReference,
  modelReference,
  skillReference,
  text,
  toolReference,
} from './file-shapes.ts';
import { flatLimitFields, limitsBlock } from './limit-shapes.ts';
import { mailFields, shareNames } from './mail-shapes.ts';
import type { JsonObject } from '#base';

const objectSchemaExpected = 'Expected a JSON Schema for an object (`type: object`): callers send an object.';

const schemaExample = (key: string): ShapeNotes => ({
  example: { type: 'object', properties: { [key]: { type: 'string' } } },
});

const answerSchema: Shape = about(
  { ...jsonObject('a JSON Schema, as a block of keys'), isSchema: true },
  'JSON Schema the answer must match.',
  { ...schemaExample('answer'), otherwise: 'any JSON' },
);

const inputSchema: Shape = about(
  withRules(
    { ...jsonObject(), isSchema: true, hint: () => objectSchemaExpected },
    {
      find: ({ type }: { readonly type?: unknown }) =>
        type === undefined || type === 'object' ? null : { text: objectSchemaExpected },
      schema: { properties: { type: { const: 'object' } } },
    },
  ),
  'JSON Schema of the object its callers send.',
  { ...schemaExample('question'), otherwise: 'any object' },
);

const needsJson = (shape: Shape): Shape =>
  withRules(shape, {
    find: ({ format, schema }: OutputFormat) =>
      schema !== undefined && format !== 'json'
        ? { at: ['schema'], text: `A schema needs \`format: json\`; the format here is ${format}.` }
        : null,
    schema: { if: { properties: { format: { const: 'json' } } }, else: { properties: { schema: false } } },
  });

const outputFormat = (notes: ShapeNotes = {}): Shape =>
  needsJson(
    block(
      { format: about(answerFormatShape, 'Answer format.', { example: 'text', ...notes }) },
      { schema: answerSchema },
    ),
  );

/** What is asked for in files that do not say it. In code it is text. */
export const outputDefault: OutputFormat = { format: 'markdown' };

const inputFormat = needsJson(
  block(
    {
      format: about(oneOf('text', 'json'), 'What its callers send: text or a JSON object.', {
        example: 'text',
        default: 'text',
      }),
    },
    { schema: inputSchema },
  ),
);

const subAgent = withShort(
  block(
    {
      agent: about(agentReference, 'Path of its file, relative to this one, or an agent name.', {
        example: './researcher.ai',
      }),
    },
    { output: about(outputFormat(), 'Output format this caller wants from it.', { example: { format: 'text' } }) },
  ),
  'agent',
);

const required = {
  description: about(text, 'One sentence that says what the agent does; callers use it to choose an agent.', {
    example: 'Says what it does, so that others know when to call it',
  }),
};

const recommended = {
  usage: about(text, 'Example input, for people.', {
    example: 'a question or a topic',
    otherwise: 'the description',
  }),
  output: about(outputFormat({ default: outputDefault.format }), 'Output format.', { example: { format: 'text' } }),
  toolName: about(
    pattern('^[A-Za-z0-9_.-]{1,64}$', nameExpected),
    'Name of the agent as a tool, for MCP clients and scripts. Models see `_` in place of dots.',
    { example: 'find_facts', otherwise: 'the file name' },
  ),
  input: about(inputFormat, 'Input format.', { example: { format: 'text' } }),
  models: about(
    oneOrMore(modelReference('anthropic/claude-sonnet-4-5'), 1),
    'Models in fallback order, each as `<provider>/<model>`.',
    { example: ['anthropic/claude-sonnet-4-5', 'openai/gpt-5'], otherwise: "the run's default models" },
  ),
  tools: about(
    orEmpty(oneOrMore(toolReference)),
    'Tools the agent may use: built-in tools, all tools of a `<server>`, or one `<server>/<tool>`.',
    { example: ['read_file', 'browser/fetch'], default: [] },
  ),
  skills: about(
    orEmpty(oneOrMore(skillReference)),
    'Folders with a `SKILL.md`, or folders of such folders: paths relative to this file, or names from `skills` in .ai-agent.json.',
    { example: ['./skills'], default: [] },
  ),
  agents: about(
    orEmpty(oneOrMore(subAgent)),
    'Sub-agents, each offered to the model as a tool: paths relative to this file, or names.',
    { example: ['./researcher.ai', { agent: './writer.ai', output: { format: 'json' } }], default: [] },
  ),
  gather: about(
    withShort(
      block({
        timeout: about(durationValue, 'Timeout for the slowest one.', { example: '2m', into: ['timeoutMs'] }),
      }),
      'timeout',
    ),
    'Adds a `gather` tool that calls several sub-agents in parallel, with this timeout.',
    { example: '2m', otherwise: 'no `gather` tool' },
  ),
  grants: about(oneOrMore(oneOf('goal', 'result', 'note', 'history')), 'What may pass into and out of its cells.', {
    example: ['goal', 'result', 'note'],
    default: ['goal', 'result', 'note'],
  }),
  share: about(shareNames, "Parts of its caller's context it is given, once, when it is called.", {
    example: ['system', 'context'],
    otherwise: 'nothing',
  }),
  budgetGroup: about(
    pattern('^[A-Za-z0-9_.-]{1,64}$', 'a name of letters, digits, dot, dash and underscore'),
    "Agents in the same group all use the group's smallest context window.",
    { example: 'research', otherwise: 'no group' },
  ),
  compaction: about(
    modelReference('anthropic/claude-haiku-4-5'),
    'Model that summarises old turns when the context fills up; it runs in its own cell.',
    { example: 'anthropic/claude-haiku-4-5', otherwise: 'no model; each old turn is cut to one line' },
  ),
  ...mailFields,
  approve: about(
    orEmpty(oneOrMore(markReference)),
    'Tools and sub-agents that a person must allow, each time. Who may answer is set in `approve` of .ai-agent.json.',
    { example: ['write_file', 'mail/send'], otherwise: 'none, except those that .ai-agent.json or a tool marks' },
  ),
  asks: about(boolean(), 'Whether the agent may ask a person.', { example: true, default: false }),
};

const perModel = { otherwise: "the model's default" };

const settingFields = {
  temperature: about(amount(), 'Sampling temperature.', { example: 0.7, ...perModel }),
  topP: about(amount(0, 1), 'Nucleus sampling (top-p).', { example: 0.9, ...perModel }),
  seed: about(whole(-Number.MAX_SAFE_INTEGER), 'Sampling seed, for models that support it.', {
    example: 42,
    ...perModel,
  }),
  reasoning: about(oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'), 'Reasoning effort.', {
    example: 'medium',
    ...perModel,
  }),
};

/** The settings of a model, in code. */
export const modelSettingsShape: Shape<ModelSettings> = object({}, settingFields);

const settings = {
  ...inBlock('settings', settingFields),
  caching: about(oneOf('full', 'none'), 'Prompt caching, for providers that make it optional.', {
    example: 'full',
    default: 'none',
  }),
  agentsAtOnce: about(whole(1), 'Hint to the model: how many agents to call in parallel.', {
    example: 2,
    otherwise: 'no hint',
  }),
};

const limits = about(orEmpty(limitsBlock), 'Limits of a session; each key may also be set at the top level.', {
  example: { maxToolTurns: 10 },
});

const budget = about(budgetBlock, 'The most the agent and its sub-agents together may spend.', {
  example: { tokens: 200_000 },
});

/** In the order of the template. */
export const frontmatterShape: Shape & ObjectForm = block(inGroup('required', required), {
  ...inGroup('recommended', recommended),
  ...inGroup('limits', { limits }),
  ...inGroup('budget', { budget }),
  ...inGroup('settings', settings),
  ...flatLimitFields,
}) as Shape & ObjectForm;

/** The section of the template that shows these keys. */
function inGroup(group: string, fields: ShapeFields): ShapeFields {
  return Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, { ...field, group }]));
}

function inBlock(into: string, fields: ShapeFields): ShapeFields {
  return Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, { ...field, into: [into, key] }]));
}

const definedByOperator = "belongs in the operator's .ai-agent.json; agent files only refer to what is defined there.";

/** Keys that people try here, and where they belong. */
export const keyHints: ReadonlyMap<string, string> = new Map([
  ['name', 'An agent is named after its file.'],
  ...['prompt', 'system', 'instructions'].map(
    (key) => [key, 'The prompt is the text below the closing `---`.'] as const,
  ),
  ['settings', 'Its keys (`temperature`, `topP`, `seed`, `reasoning`) go at the top level.'],
  ['model', 'Use `models`: a list in fallback order, each as `<provider>/<model>`.'],
  [
    'advisors',
    'Nobody is asked before an agent starts. List them in `agents`, and say in the prompt when to ask them.',
  ],
  ['router', 'List the destinations in `agents`, and say in the prompt which of them to call for what.'],
  ...['handoff', 'handoffs'].map(
    (key) =>
      [
        key,
        'A conversation is not handed over. List the agent in `agents`: its answer comes back. For a fixed order of agents, write a team file.',
      ] as const,
  ),
  ['disallowedTools', 'Nothing is inherited, so there is nothing to forbid. List in `tools` what the agent may use.'],
  ['hooks', 'The runtime runs no commands for an agent. Remove the key; `tools` says what the agent may use.'],
  [
    'permissionMode',
    'Remove the key: `tools` says what the agent may use, and `approve` what a person must allow each time.',
  ],
  ...['providers', 'mcpServers', 'mcp-servers', 'env', 'apiKey', 'baseUrl', 'headers', 'url', 'command', 'args'].map(
    (key) => [key, `\`${key}\` ${definedByOperator}`] as const,
  ),
]);

/** Keys of other runtimes that only tune them. They have no effect here, which is a warning. */
export const tuningKeys: ReadonlyMap<string, string> = new Map([
  ['cache', 'Results of agents are not cached.'],
  ['toolOutput', 'Long results are always kept as files; `max_tokens_per_step` sets how much is shown.'],
  ['plugins', 'There are no plugins.'],
  ...['repeatPenalty', 'topK', 'interleaved', 'reasoningTokens', 'stopSequences'].map(
    (key) => [key, 'It is not sent to models.'] as const,
  ),
  ['stream', 'Answers are always streamed.'],
  ...['verbose', 'traceLLM', 'traceMCP', 'traceSdk', 'traceSlack'].map(
    (key) => [key, 'Everything is recorded; see `cloister show`.'] as const,
  ),
  ['maxConcurrentTools', 'Use `parallelToolCalls`.'],
  ['mcpInitConcurrency', 'Servers are connected to when they are needed.'],
  ['contextWindow', 'Use `contextTokensMax`.'],
]);

// The frontmatter as a JSON Schema, so that editors and other programs can complete and check it.

const reference = (name: string): string => `#/$defs/${name}`;

/** It cannot express that aliases agree, that `llmTimeout` is at most `timeout_ms`, that a schema is valid, or that a pool names only agents in `spawns`. */
export const frontmatterSchema = (): JsonObject => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Frontmatter of a Cloister agent file (.ai)',
  ...jsonSchemaOf(frontmatterShape, reference),
  patternProperties: {
    [`^(?:${[...tuningKeys.keys()].join('|')})$`]: {
      description: 'A key of another runtime: ignored.',
      deprecated: true,
    },
  },
  dependentSchemas: {
    // `gather` needs sub-agents to call.
    gather: {
      required: ['agents'],
      properties: { agents: { not: { anyOf: [{ type: 'null' }, { type: 'array', maxItems: 0 }] } } },
    },
    // `spawns` and the tool `spawn_agent` require each other.
    spawns: { required: ['tools'], properties: { tools: spawnTool } },
    tools: { anyOf: [{ required: ['spawns'] }, { properties: { tools: { not: spawnTool } } }] },
  },
  $defs: namedSchemas([frontmatterShape], reference),
});

const spawnTool: JsonObject = {
  anyOf: [
    { type: 'string', pattern: '(?:^|,)\\s*spawn_agent\\s*(?:,|$)' },
    { type: 'array', contains: { const: 'spawn_agent' } },
  ],
};
