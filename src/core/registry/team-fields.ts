// Every key of a team file, once. Reading it and the table in the docs are made of this list.
import type { JsonObject } from '#base';
import type { BlockKind, FrontmatterField, Kind } from './field-kinds.ts';
import { isMapping } from './field-values.ts';
import { agentNameKind, agentReference } from './field-name-kinds.ts';
import { fields } from './fields.ts';

const ofAgents = (key: string): FrontmatterField => fields.find((field) => field.key === key)!;

const whole = (min: number, max: number): Kind => ({ is: 'number', rule: { min, max, whole: true } });

type More = Pick<FrontmatterField, 'kind' | 'description' | 'example'> & Partial<FrontmatterField>;

const field = (key: string, more: More): FrontmatterField => ({ key, group: 'recommended', ...more });

const coordinator: BlockKind = {
  is: 'block',
  required: [],
  mayBeEmpty: true,
  fields: [
    field('models', { ...ofAgents('models'), otherwise: 'the models of the config' }),
    field('prompt', {
      kind: { is: 'text' },
      description: 'Instructions for planning and answering.',
      example: 'Plan few tasks. Answer in a table.',
      otherwise: 'a short built-in prompt',
    }),
  ],
};

const toWhom = 'true, false, or for each sender a list of recipients';

const messages = (kind: Kind): FrontmatterField =>
  field('messages', {
    kind,
    description:
      'Which members may message each other: `true` for all of them, or for each sender a list of recipients.',
    example: { researcher: ['writer'] },
    default: false,
  });

const mayWrite: FrontmatterField = messages({ is: 'flag', expected: toWhom });

/** In the place of a list stands no block. */
const nothing: BlockKind = { is: 'block', required: [], fields: [] };

const mayWriteTo: FrontmatterField = messages({
  is: 'map',
  names: agentNameKind,
  of: { is: 'either', plain: { is: 'list', of: { is: 'word', ...agentNameKind }, itemsMin: 0 }, block: nothing },
});

export const teamFields: readonly FrontmatterField[] = [
  field('name', {
    kind: { is: 'word', ...agentNameKind },
    description: 'Name of the team.',
    example: 'newsroom',
    otherwise: 'the file name',
  }),
  field('description', {
    kind: { is: 'text' },
    description: 'One sentence saying what the team does.',
    example: 'Finds things out and writes them up',
  }),
  field('agents', {
    group: 'required',
    kind: { is: 'list', of: agentReference, itemsMin: 1 },
    description: 'Its members: paths of `.ai` files relative to this one, or agent names.',
    example: ['./researcher.ai', './writer.ai'],
  }),
  field('coordinator', {
    kind: { is: 'either', plain: agentReference, block: coordinator, as: 'agent' },
    description: 'Coordinator that plans and answers: an agent, or models for a built-in one.',
    example: { models: ['anthropic/claude-sonnet-4-5'] },
    otherwise: 'none: it only runs tasks you write',
  }),
  field('parallel', {
    kind: whole(1, 10_000),
    description: 'Maximum tasks in parallel.',
    example: 4,
    default: 4,
  }),
  field('capacity', {
    kind: { is: 'map', names: agentNameKind, of: whole(1, 10_000) },
    description: 'Maximum tasks in parallel per member, by name.',
    example: { writer: 1 },
    otherwise: 'limited by `parallel` only',
  }),
  field('memoryScope', {
    kind: { is: 'choice', of: ['dependencies', 'all'] },
    description: 'Default for tasks: show the results a task depends on, or all results so far.',
    example: 'dependencies',
    default: 'dependencies',
  }),
  field('planMayAskForAll', {
    kind: { is: 'flag', expected: 'true or false' },
    description: "Whether the coordinator's plan may give tasks all results.",
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
          description: 'Maximum tasks in a plan.',
          example: 50,
          default: 200,
          into: ['plan', 'tasks'],
        }),
        field('depth', {
          kind: whole(1, 100_000),
          description: 'Maximum length of a dependency chain.',
          example: 5,
          default: 20,
          into: ['plan', 'depth'],
        }),
      ],
    },
    description: 'Maximum size of a plan.',
    example: { tasks: 50, depth: 5 },
  }),
  field('retries', {
    kind: whole(0, 10),
    description: 'Default number of retries per task.',
    example: 1,
    default: 0,
  }),
  field('backOff', {
    kind: { is: 'duration' },
    description: 'Delay before the first retry; doubled for each further retry.',
    example: '1s',
    default: '1s',
    into: ['backOffMs'],
  }),
  field('backOffMs', {
    kind: { is: 'duration' },
    description: 'Alias of `backOff`.',
    example: 1_000,
    aliasOf: 'backOff',
  }),
  mayWrite,
  field('budget', { ...ofAgents('budget'), description: 'One budget for everything the team does.' }),
];

/** Read apart: what is in it is for those who know tasks. */
export const tasksField: FrontmatterField = field('tasks', {
  kind: { is: 'text' },
  description: 'Fixed list of tasks, if the team always does the same.',
  example: [{ title: 'Find facts', description: 'Find three facts about bees.' }],
});

/** The table for one file: what `messages` takes is told by what it is given. */
export const teamTable = (value: JsonObject): BlockKind => ({
  is: 'block',
  required: [],
  fields: teamFields.map((one) => (one === mayWrite && isMapping(value['messages']) ? mayWriteTo : one)),
});
