// The keys by which an agent spawns others and talks to them.
import type { Block, Field, Kind } from './field-kinds.ts';
import { agentName, agentReference, toolReference } from './field-words.ts';
import { spawnCapsDefault } from './mail-keys.ts';
import { topicExpected, topicShape } from './topic.ts';

type More = Pick<Field, 'kind' | 'description' | 'example'> & Partial<Field>;

const inner = (key: string, more: More): Field => ({ key, group: 'recommended', ...more });

const count: Kind = { is: 'number', rule: { min: 0, whole: true } };

const listOf = (of: Kind, itemsMin = 0): Kind => ({ is: 'list', of, itemsMin });

const topics: Kind = listOf({ is: 'word', shape: topicShape, expected: topicExpected });

const templates: Kind = {
  is: 'either',
  plain: { is: 'flag', expected: 'true, false, or a block with `tools`' },
  block: {
    is: 'block',
    required: ['tools'],
    fields: [
      inner('tools', {
        kind: listOf(toolReference),
        description: 'Which of its own tools these may have.',
        example: ['read_file'],
      }),
    ],
  },
};

const spawns: Block = {
  is: 'block',
  required: [],
  someOf: ['agents', 'templates'],
  fields: [
    inner('agents', {
      kind: listOf(agentReference, 1),
      description: 'Paths from this file, names, or `self` for another one of its own kind.',
      example: ['./fighter.ai', 'self'],
      otherwise: 'none',
    }),
    inner('children', {
      kind: count,
      description: 'How many of them may live at once; at most what the operator allows.',
      example: 4,
      default: spawnCapsDefault.children,
    }),
    inner('perMinute', {
      kind: count,
      description: 'How many it may start in a minute; at most what the operator allows.',
      example: 2,
      default: spawnCapsDefault.perMinute,
    }),
    inner('depth', {
      kind: count,
      description: 'Down to which level below the first agent; at most what the operator allows.',
      example: 1,
      default: spawnCapsDefault.depth,
    }),
    inner('share', {
      kind: listOf({ is: 'choice', of: ['system', 'context'] }),
      description: 'What of its own window it may hand to them.',
      example: ['context'],
      otherwise: 'nothing',
    }),
    inner('templates', {
      kind: templates,
      description: 'Whether its model may describe agents in the call itself, with some of its own tools.',
      example: { tools: ['read_file'] },
      default: false,
    }),
    inner('pool', {
      kind: { is: 'map', names: agentName, of: count },
      description: 'How many of an agent are made ready before there is something to do.',
      example: { fighter: 2 },
      otherwise: 'none',
    }),
    inner('grace', {
      kind: { is: 'duration' },
      description: 'How long they may take to come to an end when they are asked to.',
      example: '5s',
      default: 5_000,
      into: ['graceMs'],
    }),
  ],
};

export const mailFields: readonly Field[] = [
  {
    key: 'spawns',
    group: 'recommended',
    kind: { is: 'either', plain: listOf(agentReference, 1), block: spawns, as: 'agents' },
    description: 'Agents that it may start and not wait for: needs the tool `spawn_agent`.',
    example: ['./fighter.ai', 'self'],
    otherwise: 'nobody',
  },
  {
    key: 'messages',
    group: 'recommended',
    kind: listOf({
      is: 'word',
      shape: agentName.shape,
      expected: '`parent`, `children`, `siblings`, or the name of an agent',
    }),
    description: 'Whom it may exchange messages with, if they name it too: roles, or agents by name.',
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
          inner('hear', {
            kind: topics,
            description: 'Topics that it may subscribe to.',
            example: ['party-chat'],
            otherwise: 'none',
          }),
          inner('say', {
            kind: topics,
            description: 'Topics that it may publish on.',
            example: ['party-chat'],
            otherwise: 'none',
          }),
        ],
      },
    },
    description: 'Topics that it may hear and publish on.',
    example: ['party-chat'],
    otherwise: 'none',
  },
];
