// Every key of the frontmatter, once. Validation, template, JSON Schema and the table in the docs are made of this list.
import type { Field } from './field-kinds.ts';
import { budgetFields, limitFields } from './field-limits.ts';
import { mailFields } from './field-mail.ts';
import { agentReference, nameShape, plainWords, toolReference } from './field-words.ts';

const schemaField = (of: 'input' | 'output'): Field => ({
  key: 'schema',
  group: of === 'output' ? 'required' : 'recommended',
  kind: { is: 'schema', ofObject: of === 'input' },
  description:
    of === 'output' ? 'JSON Schema that the answer must fit.' : 'JSON Schema of the object that its callers send.',
  example: { type: 'object', properties: { [of === 'output' ? 'answer' : 'question']: { type: 'string' } } },
  otherwise: of === 'output' ? 'any JSON' : 'any object',
  into: [of, 'schema'],
});

const output: Field = {
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
        description: 'How it answers.',
        example: 'text',
        into: ['output', 'format'],
      },
      schemaField('output'),
    ],
  },
  description: 'The form of its answer.',
  example: { format: 'text' },
};

const input: Field = {
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
        description: 'Whether its callers send text or an object.',
        example: 'text',
        default: 'text',
        into: ['input', 'format'],
      },
      schemaField('input'),
    ],
  },
  description: 'The form of what it is asked.',
  example: { format: 'text' },
};

const agents: Field = {
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
          description: 'The path of the file, from this one, or a name to look up.',
          example: './researcher.ai',
        },
        { ...output, group: 'recommended', description: 'The form in which this agent wants its answers.' },
      ],
    },
  },
  description: 'Sub-agents, each offered to the model as a tool: paths from this file, or names.',
  example: ['./researcher.ai', { agent: './writer.ai', output: { format: 'json' } }],
  default: [],
};

const named: readonly Field[] = [
  {
    key: 'description',
    group: 'required',
    kind: { is: 'text' },
    description: 'What it does, in a sentence; callers choose it by this.',
    example: 'Says what it does, so that others know when to call it',
  },
  {
    key: 'usage',
    group: 'required',
    kind: { is: 'text' },
    description: 'An example of what to ask it, for people.',
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
    description: 'The name by which the models of its callers call it.',
    example: 'find_facts',
    otherwise: 'the name of the file',
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
        shape: `^${plainWords}${nameShape}/\\S{1,200}$`,
        expected: '`<provider>/<model>`, such as anthropic/claude-sonnet-4-5',
        operators: true,
      },
    },
    description: 'Models in the order in which they are tried, each as `<provider>/<model>`.',
    example: ['anthropic/claude-sonnet-4-5', 'openai/gpt-5'],
    otherwise: 'those that the run is given',
  },
  {
    key: 'tools',
    group: 'recommended',
    kind: {
      is: 'list',
      itemsMin: 0,
      of: toolReference,
    },
    description: 'Tools it may use: of the runtime, all of a `<server>`, or one `<server>/<tool>`.',
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
          description: 'How long the slowest of them may take.',
          example: '2m',
          into: ['gather', 'timeoutMs'],
        },
      ],
    },
    description: 'Offers a tool that asks several sub-agents at once, and waits at most this long.',
    example: '2m',
    otherwise: 'no such tool',
  },
  {
    key: 'grants',
    group: 'recommended',
    kind: { is: 'list', itemsMin: 0, of: { is: 'choice', of: ['goal', 'result', 'note', 'history'] } },
    description: 'What may cross into and out of its cells.',
    example: ['goal', 'result', 'note'],
    default: ['goal', 'result', 'note'],
  },
  {
    key: 'share',
    group: 'recommended',
    kind: { is: 'list', itemsMin: 0, of: { is: 'choice', of: ['system', 'context'] } },
    description: "What of its caller's window it is given when it is called, once.",
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
    description: 'Agents of one group have windows as small as the smallest among them.',
    example: 'research',
    otherwise: 'no group',
  },
  {
    key: 'compaction',
    group: 'recommended',
    kind: {
      is: 'word',
      shape: `^${plainWords}${nameShape}/\\S{1,200}$`,
      expected: '`<provider>/<model>`, such as anthropic/claude-haiku-4-5',
      operators: true,
    },
    description: 'A model that puts old turns into a few words when the window needs room, in a cell of its own.',
    example: 'anthropic/claude-haiku-4-5',
    otherwise: 'code does, one line each',
  },
];

const setting = (key: string, more: Pick<Field, 'kind' | 'description' | 'example'>): Field => ({
  key,
  group: 'settings',
  otherwise: 'as the model has it',
  into: ['settings', key],
  ...more,
});

const settings: readonly Field[] = [
  setting('temperature', {
    kind: { is: 'number', rule: { min: 0, whole: false } },
    description: 'How freely the model chooses its words.',
    example: 0.7,
  }),
  setting('topP', {
    kind: { is: 'number', rule: { min: 0, max: 1, whole: false } },
    description: 'From which share of the likeliest words the model chooses.',
    example: 0.9,
  }),
  setting('seed', {
    kind: { is: 'number', rule: { min: -Number.MAX_SAFE_INTEGER, whole: true } },
    description: 'Makes answers repeatable with models that support it.',
    example: 42,
  }),
  setting('reasoning', {
    kind: { is: 'choice', of: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] },
    description: 'How much the model thinks before it answers.',
    example: 'medium',
  }),
  {
    key: 'caching',
    group: 'settings',
    kind: { is: 'choice', of: ['full', 'none'] },
    description: 'Whether providers that let one choose keep the prompt in their cache.',
    example: 'full',
    default: 'none',
  },
  {
    key: 'agentsAtOnce',
    group: 'settings',
    kind: { is: 'number', rule: { min: 1, whole: true } },
    description: 'A hint to the model: at most so many agents at once, unless there is a reason.',
    example: 2,
    otherwise: 'no hint',
  },
];

const limits: Field = {
  key: 'limits',
  group: 'limits',
  kind: { is: 'block', required: [], fields: limitFields, mayBeEmpty: true },
  description: 'Fixed caps of a session; each may also stand at the top level.',
  example: { maxToolTurns: 10 },
};

const budget: Field = {
  key: 'budget',
  group: 'budget',
  kind: { is: 'block', required: [], fields: budgetFields, mayBeEmpty: true },
  description: 'What it may spend, its sub-agents included.',
  example: { tokens: 200_000 },
};

/** The keys of the top level, in the order of the template; those of `limits` may stand here too. */
export const fields: readonly Field[] = [...named, ...mailFields, limits, budget, ...settings, ...limitFields];

export const requiredKeys: readonly string[] = ['description', 'usage', 'output'];

const operators = 'belongs in the .ai-agent.json of the operator: agent files only name what is defined there.';

/** Keys that people look for here, and where they are. */
export const fieldHints: ReadonlyMap<string, string> = new Map([
  ['name', 'An agent has the name of its file.'],
  ...['prompt', 'system', 'instructions'].map(
    (key) => [key, 'The prompt is the text below the closing `---`.'] as const,
  ),
  ['settings', 'Its keys (`temperature`, `topP`, `seed`, `reasoning`) stand at the top level.'],
  ...['providers', 'mcpServers', 'env', 'apiKey', 'baseUrl', 'headers', 'url', 'command', 'args'].map(
    (key) => [key, `\`${key}\` ${operators}`] as const,
  ),
]);
