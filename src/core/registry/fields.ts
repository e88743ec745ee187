// Every key of the frontmatter, once. Validation, template, JSON Schema and the tables in the docs are derived from this list.
import type { FrontmatterField } from './field-kinds.ts';
import { budgetFields, limitFields } from './field-limits.ts';
import { mailFields } from './field-mail.ts';
import { agentReference, nameShape, toolReference, urlOrVariable } from './field-name-kinds.ts';

const schemaField = (of: 'input' | 'output'): FrontmatterField => ({
  key: 'schema',
  group: of === 'output' ? 'required' : 'recommended',
  kind: { is: 'schema', ofObject: of === 'input' },
  description: of === 'output' ? 'JSON Schema the answer must match.' : 'JSON Schema of the object its callers send.',
  example: { type: 'object', properties: { [of === 'output' ? 'answer' : 'question']: { type: 'string' } } },
  otherwise: of === 'output' ? 'any JSON' : 'any object',
  into: [of, 'schema'],
});

const output: FrontmatterField = {
  key: 'output',
  group: 'required',
  kind: {
    is: 'block',
    required: ['format'],
    fields: [
      {
        key: 'format',
        group: 'required',
        kind: { is: 'choice', of: ['text', 'markdown', 'json'] },
        description: 'Answer format.',
        example: 'text',
        into: ['output', 'format'],
      },
      schemaField('output'),
    ],
  },
  description: 'Output format.',
  example: { format: 'text' },
};

const input: FrontmatterField = {
  key: 'input',
  group: 'recommended',
  kind: {
    is: 'block',
    required: ['format'],
    fields: [
      {
        key: 'format',
        group: 'recommended',
        kind: { is: 'choice', of: ['text', 'json'] },
        description: 'What its callers send: text or a JSON object.',
        example: 'text',
        default: 'text',
        into: ['input', 'format'],
      },
      schemaField('input'),
    ],
  },
  description: 'Input format.',
  example: { format: 'text' },
};

const agents: FrontmatterField = {
  key: 'agents',
  group: 'recommended',
  kind: {
    is: 'list',
    itemsMin: 0,
    of: {
      is: 'block',
      required: ['agent'],
      short: 'agent',
      fields: [
        {
          key: 'agent',
          group: 'recommended',
          kind: agentReference,
          description: 'Path of its file, relative to this one, or an agent name.',
          example: './researcher.ai',
        },
        { ...output, group: 'recommended', description: 'Output format this caller wants from it.' },
      ],
    },
  },
  description: 'Sub-agents, each offered to the model as a tool: paths relative to this file, or names.',
  example: ['./researcher.ai', { agent: './writer.ai', output: { format: 'json' } }],
  default: [],
};

const basicFields: readonly FrontmatterField[] = [
  {
    key: 'description',
    group: 'required',
    kind: { is: 'text' },
    description: 'One sentence that says what the agent does; callers use it to choose an agent.',
    example: 'Says what it does, so that others know when to call it',
  },
  {
    key: 'usage',
    group: 'required',
    kind: { is: 'text' },
    description: 'Example input, for people.',
    example: 'a question or a topic',
  },
  output,
  {
    key: 'toolName',
    group: 'recommended',
    kind: {
      is: 'word',
      shape: `^${nameShape}$`,
      expected: 'letters, digits, dot, dash and underscore, at most 64 characters',
    },
    description: 'Name of the agent as a tool, for MCP clients and scripts. Models see `_` in place of dots.',
    example: 'find_facts',
    otherwise: 'the file name',
  },
  input,
  {
    key: 'models',
    group: 'recommended',
    kind: {
      is: 'list',
      itemsMin: 1,
      of: {
        is: 'word',
        shape: `^${nameShape}/\\S{1,200}$`,
        never: urlOrVariable,
        expected: '`<provider>/<model>`, such as anthropic/claude-sonnet-4-5',
        operators: true,
      },
    },
    description: 'Models in fallback order, each as `<provider>/<model>`.',
    example: ['anthropic/claude-sonnet-4-5', 'openai/gpt-5'],
    otherwise: "the run's default models",
  },
  {
    key: 'tools',
    group: 'recommended',
    kind: {
      is: 'list',
      itemsMin: 0,
      of: toolReference,
    },
    description: 'Tools the agent may use: built-in tools, all tools of a `<server>`, or one `<server>/<tool>`.',
    example: ['read_file', 'browser/fetch'],
    default: [],
  },
  agents,
  {
    key: 'gather',
    group: 'recommended',
    kind: {
      is: 'block',
      required: ['timeout'],
      short: 'timeout',
      fields: [
        {
          key: 'timeout',
          group: 'recommended',
          kind: { is: 'duration' },
          description: 'Timeout for the slowest one.',
          example: '2m',
          into: ['gather', 'timeoutMs'],
        },
      ],
    },
    description: 'Adds a `gather` tool that calls several sub-agents in parallel, with this timeout.',
    example: '2m',
    otherwise: 'no `gather` tool',
  },
  {
    key: 'grants',
    group: 'recommended',
    kind: { is: 'list', itemsMin: 0, of: { is: 'choice', of: ['goal', 'result', 'note', 'history'] } },
    description: 'What may pass into and out of its cells.',
    example: ['goal', 'result', 'note'],
    default: ['goal', 'result', 'note'],
  },
  {
    key: 'share',
    group: 'recommended',
    kind: { is: 'list', itemsMin: 0, of: { is: 'choice', of: ['system', 'context'] } },
    description: "Parts of its caller's context it is given, once, when it is called.",
    example: ['system', 'context'],
    otherwise: 'nothing',
  },
  {
    key: 'budgetGroup',
    group: 'recommended',
    kind: {
      is: 'word',
      shape: '^[A-Za-z0-9_.-]{1,64}$',
      expected: 'a name of letters, digits, dot, dash and underscore',
    },
    description: "Agents in the same group all use the group's smallest context window.",
    example: 'research',
    otherwise: 'no group',
  },
  {
    key: 'compaction',
    group: 'recommended',
    kind: {
      is: 'word',
      shape: `^${nameShape}/\\S{1,200}$`,
      never: urlOrVariable,
      expected: '`<provider>/<model>`, such as anthropic/claude-haiku-4-5',
      operators: true,
    },
    description: 'Model that summarises old turns when the context fills up; it runs in its own cell.',
    example: 'anthropic/claude-haiku-4-5',
    otherwise: 'no model; each old turn is cut to one line',
  },
];

const setting = (key: string, more: Pick<FrontmatterField, 'kind' | 'description' | 'example'>): FrontmatterField => ({
  key,
  group: 'settings',
  otherwise: "the model's default",
  into: ['settings', key],
  ...more,
});

const settings: readonly FrontmatterField[] = [
  setting('temperature', {
    kind: { is: 'number', rule: { min: 0, whole: false } },
    description: 'Sampling temperature.',
    example: 0.7,
  }),
  setting('topP', {
    kind: { is: 'number', rule: { min: 0, max: 1, whole: false } },
    description: 'Nucleus sampling (top-p).',
    example: 0.9,
  }),
  setting('seed', {
    kind: { is: 'number', rule: { min: -Number.MAX_SAFE_INTEGER, whole: true } },
    description: 'Sampling seed, for models that support it.',
    example: 42,
  }),
  setting('reasoning', {
    kind: { is: 'choice', of: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] },
    description: 'Reasoning effort.',
    example: 'medium',
  }),
  {
    key: 'caching',
    group: 'settings',
    kind: { is: 'choice', of: ['full', 'none'] },
    description: 'Prompt caching, for providers that make it optional.',
    example: 'full',
    default: 'none',
  },
  {
    key: 'agentsAtOnce',
    group: 'settings',
    kind: { is: 'number', rule: { min: 1, whole: true } },
    description: 'Hint to the model: how many agents to call in parallel.',
    example: 2,
    otherwise: 'no hint',
  },
];

const limits: FrontmatterField = {
  key: 'limits',
  group: 'limits',
  kind: { is: 'block', required: [], fields: limitFields, mayBeEmpty: true },
  description: 'Limits of a session; each key may also be set at the top level.',
  example: { maxToolTurns: 10 },
};

const budget: FrontmatterField = {
  key: 'budget',
  group: 'budget',
  kind: { is: 'block', required: [], fields: budgetFields, mayBeEmpty: true },
  description: 'The most the agent and its sub-agents together may spend.',
  example: { tokens: 200_000 },
};

/** The keys of the top level, in the order of the template; those of `limits` are allowed here too. */
export const frontmatterFields: readonly FrontmatterField[] = [
  ...basicFields,
  ...mailFields,
  limits,
  budget,
  ...settings,
  ...limitFields,
];

export const requiredKeys: readonly string[] = ['description', 'usage', 'output'];

const definedByOperator = "belongs in the operator's .ai-agent.json; agent files only refer to what is defined there.";

/** Keys that people try here, and where they belong. */
export const fieldHints: ReadonlyMap<string, string> = new Map([
  ['name', 'An agent is named after its file.'],
  ...['prompt', 'system', 'instructions'].map(
    (key) => [key, 'The prompt is the text below the closing `---`.'] as const,
  ),
  ['settings', 'Its keys (`temperature`, `topP`, `seed`, `reasoning`) go at the top level.'],
  ...['providers', 'mcpServers', 'env', 'apiKey', 'baseUrl', 'headers', 'url', 'command', 'args'].map(
    (key) => [key, `\`${key}\` ${definedByOperator}`] as const,
  ),
]);
