// Every key of a team file, once. Reading it and the table in the docs are made of this list.
import type { JsonObject } from '#base';
import type { Block, Field, Kind } from './field-kinds.ts';
import { isMapping } from './field-values.ts';
import { agentName, agentReference } from './field-words.ts';
import { fields } from './fields.ts';

const ofAgents = (key: string): Field => fields.find((field) => field.key === key)!;

const whole = (min: number, max: number): Kind => ({ is: 'number', rule: { min, max, whole: true } });

type More = Pick<Field, 'kind' | 'description' | 'example'> & Partial<Field>;

const field = (key: string, more: More): Field => ({ key, group: 'recommended', ...more });

const coordinator: Block = {
  is: 'block',
  required: [],
  mayBeEmpty: true,
  fields: [
    field('models', { ...ofAgents('models'), otherwise: 'those of the config' }),
    field('prompt', {
      kind: { is: 'text' },
      description: 'What it is told about how to plan and to answer.',
      example: 'Plan few tasks. Answer in a table.',
      otherwise: 'a few words of the runtime',
    }),
  ],
};

const toWhom = 'true, false, or for each of some members a list of others';

const messages = (kind: Kind): Field =>
  field('messages', {
    kind,
    description: 'Who may write to whom: `true` for all to all, or for each of some members a list of others.',
    example: { researcher: ['writer'] },
    default: false,
  });

const mayWrite: Field = messages({ is: 'flag', expected: toWhom });

/** In the place of a list stands no block. */
const nothing: Block = { is: 'block', required: [], fields: [] };

const mayWriteTo: Field = messages({
  is: 'map',
  names: agentName,
  of: { is: 'either', plain: { is: 'list', of: { is: 'word', ...agentName }, itemsMin: 0 }, block: nothing },
});

export const teamFields: readonly Field[] = [
  field('name', {
    kind: { is: 'word', ...agentName },
    description: 'What it is called.',
    example: 'newsroom',
    otherwise: 'the name of the file',
  }),
  field('description', {
    kind: { is: 'text' },
    description: 'What it does, in a sentence.',
    example: 'Finds things out and writes them up',
  }),
  field('agents', {
    group: 'required',
    kind: { is: 'list', of: agentReference, itemsMin: 1 },
    description: 'Its members: paths of `.ai` files from this one, or names of agents.',
    example: ['./researcher.ai', './writer.ai'],
  }),
  field('coordinator', {
    kind: { is: 'either', plain: agentReference, block: coordinator, as: 'agent' },
    description: 'Who plans and answers: an agent, or the models for one that the runtime makes.',
    example: { models: ['anthropic/claude-sonnet-4-5'] },
    otherwise: 'nobody: it works only on tasks that you write',
  }),
  field('parallel', {
    kind: whole(1, 10_000),
    description: 'How many tasks are worked on at once.',
    example: 4,
    default: 4,
  }),
  field('capacity', {
    kind: { is: 'map', names: agentName, of: whole(1, 10_000) },
    description: 'The same for some of the members, by name.',
    example: { writer: 1 },
    otherwise: 'as many as the team',
  }),
  field('memoryScope', {
    kind: { is: 'choice', of: ['dependencies', 'all'] },
    description: 'What a task that says nothing is shown of the others: the results that it depends on, or all.',
    example: 'dependencies',
    default: 'dependencies',
  }),
  field('planMayAskForAll', {
    kind: { is: 'flag', expected: 'true or false' },
    description: 'Whether a plan of the coordinator may show a task all results.',
    example: false,
    default: false,
  }),
  field('plan', {
    kind: {
      is: 'block',
      required: [],
      mayBeEmpty: true,
      fields: [
        field('tasks', {
          kind: whole(1, 100_000),
          description: 'The most tasks that a plan may have.',
          example: 50,
          default: 200,
          into: ['plan', 'tasks'],
        }),
        field('depth', {
          kind: whole(1, 100_000),
          description: 'The most that may follow one another.',
          example: 5,
          default: 20,
          into: ['plan', 'depth'],
        }),
      ],
    },
    description: 'The largest plan that the coordinator may make.',
    example: { tasks: 50, depth: 5 },
  }),
  field('retries', {
    kind: whole(0, 10),
    description: 'How often a task that says nothing is tried again when it fails.',
    example: 1,
    default: 0,
  }),
  field('backOff', {
    kind: { is: 'duration' },
    description: 'How long to wait before the second try; twice as long before each further one.',
    example: '1s',
    default: '1s',
    into: ['backOffMs'],
  }),
  field('backOffMs', {
    kind: { is: 'duration' },
    description: 'Another spelling of `backOff`.',
    example: 1_000,
    aliasOf: 'backOff',
  }),
  mayWrite,
  field('budget', { ...ofAgents('budget'), description: 'One account for all that the team does.' }),
];

/** Read apart: what is in it is for those who know tasks. */
export const tasksField: Field = field('tasks', {
  kind: { is: 'text' },
  description: 'What there is to do, if it is always the same: a list of tasks.',
  example: [{ title: 'Find facts', description: 'Find three facts about bees.' }],
});

/** The table for one file: what `messages` takes is told by what it is given. */
export const teamTable = (value: JsonObject): Block => ({
  is: 'block',
  required: [],
  fields: teamFields.map((one) => (one === mayWrite && isMapping(value['messages']) ? mayWriteTo : one)),
});
