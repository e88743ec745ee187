// Every key of a team file, once. The parser and the table in the docs are derived from this list.
import type { JsonObject } from '#base';
import type { BlockKind, FrontmatterField, FieldKind } from './field-kinds.ts';
import { isMapping } from './field-values.ts';
import { agentNameKind, agentReference } from './field-name-kinds.ts';
import { frontmatterFields } from './fields.ts';

const agentField = (key: string): FrontmatterField => frontmatterFields.find((field) => field.key === key)!;

const wholeNumber = (min: number, max: number): FieldKind => ({ is: 'number', rule: { min, max, whole: true } });

type FieldDetails = Pick<FrontmatterField, 'kind' | 'description' | 'example'> & Partial<FrontmatterField>;

const teamField = (key: string, details: FieldDetails): FrontmatterField => ({ key, group: 'recommended', ...details });

const coordinator: BlockKind = {
  is: 'block',
  required: [],
  mayBeEmpty: true,
  fields: [
    teamField('models', { ...agentField('models'), otherwise: 'the models of the config' }),
    teamField('prompt', {
      kind: { is: 'text' },
      description: 'Instructions for planning and answering.',
      example: 'Plan few tasks. Answer in a table.',
      otherwise: 'a short built-in prompt',
    }),
  ],
};

const recipientsExpected = 'true, false, or for each sender a list of recipients';

const messages = (kind: FieldKind): FrontmatterField =>
  teamField('messages', {
    kind,
    description:
      'Which members may message each other: `true` for all of them, or for each sender a list of recipients.',
    example: { researcher: ['writer'] },
    default: false,
  });

const messagesFlag: FrontmatterField = messages({ is: 'flag', expected: recipientsExpected });

/** A list cannot be replaced by a block. */
const emptyBlock: BlockKind = { is: 'block', required: [], fields: [] };

const messagesMap: FrontmatterField = messages({
  is: 'map',
  names: agentNameKind,
  of: { is: 'either', plain: { is: 'list', of: { is: 'word', ...agentNameKind }, itemsMin: 0 }, block: emptyBlock },
});

export const teamFields: readonly FrontmatterField[] = [
  teamField('name', {
    kind: { is: 'word', ...agentNameKind },
    description: 'Name of the team.',
    example: 'newsroom',
    otherwise: 'the file name',
  }),
  teamField('description', {
    kind: { is: 'text' },
    description: 'One sentence saying what the team does.',
    example: 'Finds things out and writes them up',
  }),
  teamField('agents', {
    group: 'required',
    kind: { is: 'list', of: agentReference, itemsMin: 1 },
    description: 'Its members: paths of `.ai` files relative to this one, or agent names.',
    example: ['./researcher.ai', './writer.ai'],
  }),
  teamField('coordinator', {
    kind: { is: 'either', plain: agentReference, block: coordinator, as: 'agent' },
    description: 'Coordinator that plans and answers: an agent, or models for a built-in one.',
    example: { models: ['anthropic/claude-sonnet-4-5'] },
    otherwise: 'none: it only runs tasks you write',
  }),
  teamField('parallel', {
    kind: wholeNumber(1, 10_000),
    description: 'Maximum tasks in parallel.',
    example: 4,
    default: 4,
  }),
  teamField('capacity', {
    kind: { is: 'map', names: agentNameKind, of: wholeNumber(1, 10_000) },
    description: 'Maximum tasks in parallel per member, by name.',
    example: { writer: 1 },
    otherwise: 'limited by `parallel` only',
  }),
  teamField('memoryScope', {
    kind: { is: 'choice', of: ['dependencies', 'all'] },
    description: 'Default for tasks: show the results a task depends on, or all results so far.',
    example: 'dependencies',
    default: 'dependencies',
  }),
  teamField('planMayAskForAll', {
    kind: { is: 'flag', expected: 'true or false' },
    description: "Whether the coordinator's plan may give tasks all results.",
    example: false,
    default: false,
  }),
  teamField('plan', {
    kind: {
      is: 'block',
      required: [],
      mayBeEmpty: true,
      fields: [
        teamField('tasks', {
          kind: wholeNumber(1, 100_000),
          description: 'Maximum tasks in a plan.',
          example: 50,
          default: 200,
          into: ['plan', 'tasks'],
        }),
        teamField('depth', {
          kind: wholeNumber(1, 100_000),
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
  teamField('retries', {
    kind: wholeNumber(0, 10),
    description: 'Default number of retries per task.',
    example: 1,
    default: 0,
  }),
  teamField('backOff', {
    kind: { is: 'duration' },
    description: 'Delay before the first retry; doubled for each further retry.',
    example: '1s',
    default: '1s',
    into: ['backOffMs'],
  }),
  teamField('backOffMs', {
    kind: { is: 'duration' },
    description: 'Alias of `backOff`.',
    example: 1_000,
    aliasOf: 'backOff',
  }),
  messagesFlag,
  teamField('budget', { ...agentField('budget'), description: 'One budget for everything the team does.' }),
];

/** Parsed separately: `core/tasks` checks its content. */
export const tasksField: FrontmatterField = teamField('tasks', {
  kind: { is: 'text' },
  description: 'Fixed list of tasks, if the team always does the same.',
  example: [{ title: 'Find facts', description: 'Find three facts about bees.' }],
});

/** The fields for one file. The kind of `messages` depends on its value. */
export const teamTable = (value: JsonObject): BlockKind => ({
  is: 'block',
  required: [],
  fields: teamFields.map((one) => (one === messagesFlag && isMapping(value['messages']) ? messagesMap : one)),
});
