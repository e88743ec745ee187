// The keys for spawning agents and exchanging messages.
import { about, either, boolean, mapOf, oneOf, oneOrMore, whole, withShort, withSomeOf } from '#base/shapes';
import type { Shape } from '#base/shapes';
import {
  agentName,
  agentReference,
  block,
  durationValue,
  mapExpected,
  toolReference,
  topicName,
} from './file-shapes.ts';
import { spawnCapsDefault } from './mail-keys.ts';

export const shareNames = oneOrMore(oneOf('system', 'context'));

const templates = either(
  'true, false, or a block with `tools`',
  boolean(),
  block({
    tools: about(oneOrMore(toolReference), 'Which of its own tools it may give to such agents.', {
      example: ['read_file'],
    }),
  }),
);

const spawnKeys = {
  agents: about(oneOrMore(agentReference, 1), 'Paths relative to this file, names, or `self` for a copy of itself.', {
    example: ['./fighter.ai', 'self'],
    otherwise: 'none',
  }),
  children: about(whole(), "Maximum live children, up to the operator's limit.", {
    example: 4,
    default: spawnCapsDefault.children,
  }),
  perMinute: about(whole(), "Maximum agents it may start per minute, up to the operator's limit.", {
    example: 2,
    default: spawnCapsDefault.perMinute,
  }),
  depth: about(whole(), "Maximum nesting level below the root agent, up to the operator's limit.", {
    example: 1,
    default: spawnCapsDefault.depth,
  }),
  share: about(shareNames, 'Parts of its own context it may share with them.', {
    example: ['context'],
    otherwise: 'nothing',
  }),
  templates: about(templates, 'Whether its model may define new agents inline, with a subset of its own tools.', {
    example: { tools: ['read_file'] },
    default: false,
  }),
  pool: about({ ...mapOf(whole(), agentName), expected: mapExpected }, 'Instances of an agent to pre-warm.', {
    example: { fighter: 2 },
    otherwise: 'none',
  }),
  grace: about(durationValue, 'Grace period for shutdown.', { example: '5s', default: 5_000, into: ['graceMs'] }),
  on_end: about(
    oneOf('wait', 'stop'),
    'What happens to those that still work after its last answer: `wait` for them, or `stop` them at once.',
    { example: 'stop', default: 'wait', into: ['onEnd'] },
  ),
  wait: about(
    durationValue,
    'How long it waits for them at most. Those that still work then are stopped and named in the result.',
    { example: '2m', default: 600_000, into: ['waitMs'] },
  ),
};

const topics = oneOrMore(topicName);

const topicKeys = {
  hear: about(topics, 'Topics it may subscribe to.', { example: ['party-chat'], otherwise: 'none' }),
  say: about(topics, 'Topics it may publish on.', { example: ['party-chat'], otherwise: 'none' }),
};

export const mailFields: Readonly<Record<'spawns' | 'messages' | 'topics', Shape>> = {
  spawns: about(
    withShort(withSomeOf(block({}, spawnKeys), 'agents', 'templates'), 'agents'),
    'Agents it may start without waiting for them; needs the `spawn_agent` tool.',
    { example: ['./fighter.ai', 'self'], otherwise: 'none' },
  ),
  messages: about(
    oneOrMore({ ...agentName, expected: '`parent`, `children`, `siblings`, or an agent name' }),
    'Agents it may exchange messages with, by role or name; both agents must list each other.',
    { example: ['parent', 'children', 'siblings'], otherwise: 'its parent and its children' },
  ),
  topics: about(
    either(topicName.expected as string, topics, withSomeOf(block({}, topicKeys), 'hear', 'say')),
    'Topics it may subscribe to and publish on.',
    { example: ['party-chat'], otherwise: 'none' },
  ),
};
