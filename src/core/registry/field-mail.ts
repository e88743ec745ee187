// The keys for spawning agents and exchanging messages.
import type { BlockKind, FrontmatterField, FieldKind } from './field-kinds.ts';
import { agentNameKind, agentReference, toolReference } from './field-name-kinds.ts';
import { spawnCapsDefault } from './mail-keys.ts';
import { topicExpected, topicShape } from './topic.ts';

type FieldDetails = Pick<FrontmatterField, 'kind' | 'description' | 'example'> & Partial<FrontmatterField>;

const innerField = (key: string, details: FieldDetails): FrontmatterField => ({
  key,
  group: 'recommended',
  ...details,
});

const countKind: FieldKind = { is: 'number', rule: { min: 0, whole: true } };

const listOf = (of: FieldKind, itemsMin = 0): FieldKind => ({ is: 'list', of, itemsMin });

const topics: FieldKind = listOf({ is: 'word', shape: topicShape, expected: topicExpected });

const templates: FieldKind = {
  is: 'either',
  plain: { is: 'flag', expected: 'true, false, or a block with `tools`' },
  block: {
    is: 'block',
    required: ['tools'],
    fields: [
      innerField('tools', {
        kind: listOf(toolReference),
        description: 'Which of its own tools it may give to such agents.',
        example: ['read_file'],
      }),
    ],
  },
};

const spawns: BlockKind = {
  is: 'block',
  required: [],
  someOf: ['agents', 'templates'],
  fields: [
    innerField('agents', {
      kind: listOf(agentReference, 1),
      description: 'Paths relative to this file, names, or `self` for a copy of itself.',
      example: ['./fighter.ai', 'self'],
      otherwise: 'none',
    }),
    innerField('children', {
      kind: countKind,
      description: "Maximum live children, up to the operator's limit.",
      example: 4,
      default: spawnCapsDefault.children,
    }),
    innerField('perMinute', {
      kind: countKind,
      description: "Maximum agents it may start per minute, up to the operator's limit.",
      example: 2,
      default: spawnCapsDefault.perMinute,
    }),
    innerField('depth', {
      kind: countKind,
      description: "Maximum nesting level below the root agent, up to the operator's limit.",
      example: 1,
      default: spawnCapsDefault.depth,
    }),
    innerField('share', {
      kind: listOf({ is: 'choice', of: ['system', 'context'] }),
      description: 'Parts of its own context it may share with them.',
      example: ['context'],
      otherwise: 'nothing',
    }),
    innerField('templates', {
      kind: templates,
      description: 'Whether its model may define new agents inline, with a subset of its own tools.',
      example: { tools: ['read_file'] },
      default: false,
    }),
    innerField('pool', {
      kind: { is: 'map', names: agentNameKind, of: countKind },
      description: 'Instances of an agent to pre-warm.',
      example: { fighter: 2 },
      otherwise: 'none',
    }),
    innerField('grace', {
      kind: { is: 'duration' },
      description: 'Grace period for shutdown.',
      example: '5s',
      default: 5_000,
      into: ['graceMs'],
    }),
    innerField('on_end', {
      kind: { is: 'choice', of: ['wait', 'stop'] },
      description:
        'What happens to those that still work after its last answer: `wait` for them, or `stop` them at once.',
      example: 'stop',
      default: 'wait',
      into: ['onEnd'],
    }),
    innerField('wait', {
      kind: { is: 'duration' },
      description:
        'How long it waits for them at most. Those that still work then are stopped and named in the result.',
      example: '2m',
      default: 600_000,
      into: ['waitMs'],
    }),
  ],
};

export const mailFields: readonly FrontmatterField[] = [
  {
    key: 'spawns',
    group: 'recommended',
    kind: { is: 'either', plain: listOf(agentReference, 1), block: spawns, as: 'agents' },
    description: 'Agents it may start without waiting for them; needs the `spawn_agent` tool.',
    example: ['./fighter.ai', 'self'],
    otherwise: 'none',
  },
  {
    key: 'messages',
    group: 'recommended',
    kind: listOf({
      is: 'word',
      ...agentNameKind,
      expected: '`parent`, `children`, `siblings`, or an agent name',
    }),
    description: 'Agents it may exchange messages with, by role or name; both agents must list each other.',
    example: ['parent', 'children', 'siblings'],
    otherwise: 'its parent and its children',
  },
  {
    key: 'topics',
    group: 'recommended',
    kind: {
      is: 'either',
      plain: topics,
      block: {
        is: 'block',
        required: [],
        someOf: ['hear', 'say'],
        fields: [
          innerField('hear', {
            kind: topics,
            description: 'Topics it may subscribe to.',
            example: ['party-chat'],
            otherwise: 'none',
          }),
          innerField('say', {
            kind: topics,
            description: 'Topics it may publish on.',
            example: ['party-chat'],
            otherwise: 'none',
          }),
        ],
      },
    },
    description: 'Topics it may subscribe to and publish on.',
    example: ['party-chat'],
    otherwise: 'none',
  },
];
