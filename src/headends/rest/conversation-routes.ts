// The conversations of a caller, with their turns, and messages that nobody will read.
import { about, boolean, listOf, named, object, oneOf, openObject, orNull, string, whole } from '#base/shapes';
import type { Shape } from '#base/shapes';
import type { AdmittedRequest, AgentService, ConversationRef, HttpRoute } from '#contracts';
import { checkpointShape } from './checkpoint-shapes.ts';
import { jsonReply, restRoute } from './described-route.ts';
import { errorShape, spentShape, statuses } from './reply-shapes.ts';
import { mailShape } from './report-shapes.ts';
import { countShape as count, textShape as text, textsShape as texts, timeShape as time } from './value-shapes.ts';

const conversationFields = {
  agent: text,
  name: about(text, 'The name that you gave it; one of another caller has that caller’s name before it.'),
  updatedAt: time,
  attached: about(texts, 'Other agents that may read and write it.'),
};

const conversationShape = named(
  'Conversation',
  openObject({ ...conversationFields, turns: about(count, 'How many turns it has.') }),
);

const turnShape = named(
  'ConversationTurn',
  openObject(
    {
      run: text,
      agent: text,
      goal: text,
      output: text,
      status: oneOf(...statuses, 'running', 'waiting', 'interrupted', 'damaged'),
      startedAt: time,
      endedAt: orNull(time),
      spent: orNull(spentShape),
      versions: about(texts, 'The runs that were this turn at some time, oldest first, with the one that counts.'),
    },
    { inherited: about(boolean(), 'A turn of the conversation that this one was branched from.') },
  ),
);

const conversationReportShape = named(
  'ConversationReport',
  openObject({
    ...conversationFields,
    turns: about(listOf(turnShape), 'The newest ones, oldest first.'),
    more: about(boolean(), 'Whether there are turns before these.'),
    checkpoints: listOf(checkpointShape),
    branches: about(
      listOf(openObject({ agent: text, name: text, checkpoint: text })),
      'Conversations that begin as this one was at a checkpoint.',
    ),
  }),
);

export const conversationValues: readonly Shape[] = [conversationShape, turnShape, conversationReportShape];

const perPage = { default: 50, max: 1000 };
const runsRead = { default: 100, max: 1000 };

const listQuery = object({}, { agent: about(string(), 'Only those of this agent, and those that it is attached to.') });
const showQuery = object(
  {},
  { limit: about(whole(1, perPage.max), 'Maximum number of turns.', { default: perPage.default }) },
);
const deleteQuery = object({}, { force: about(boolean(), 'Although others use it.', { default: false }) });
const lettersQuery = object(
  {},
  { runs: about(whole(1, runsRead.max), 'How many of the newest runs are read.', { default: runsRead.default }) },
);

const refOf = ({ params }: AdmittedRequest): ConversationRef => ({
  agent: params['agent'] ?? '',
  name: params['conversation'] ?? '',
});

const path = '/v1/conversations/:agent/:conversation';

export const conversationRoutes = (service: AgentService): readonly HttpRoute[] => [
  restRoute({
    method: 'GET',
    path: '/v1/conversations',
    id: 'listConversations',
    tag: 'conversations',
    summary: 'List your conversations, newest first',
    query: listQuery,
    replies: { 200: jsonReply('The conversations.', openObject({ conversations: listOf(conversationShape) })) },
    answer: async ({ caller }, { query }) => ({
      status: 200,
      body: { conversations: await service.conversations.list(caller, query) },
    }),
  }),
  restRoute({
    method: 'GET',
    path,
    id: 'showConversation',
    tag: 'conversations',
    summary: 'Get a conversation: its newest turns, its checkpoints and its branches',
    query: showQuery,
    replies: { 200: jsonReply('The conversation.', conversationReportShape) },
    answer: async (call, { query: { limit = perPage.default } }) => {
      const { turnList, turns: _turns, ...facts } = await service.conversations.show(call.caller, refOf(call), limit);
      return { status: 200, body: { ...facts, turns: turnList } };
    },
  }),
  restRoute({
    method: 'DELETE',
    path,
    id: 'deleteConversation',
    tag: 'conversations',
    summary: 'Delete a conversation; the operator can restore it',
    query: deleteQuery,
    replies: {
      200: jsonReply('It is deleted.', openObject({ agent: text, name: text })),
      409: jsonReply('Others use it, or a turn is running.', errorShape),
    },
    answer: async (call, { query }) => {
      await service.conversations.delete(call.caller, refOf(call), query);
      return { status: 200, body: { ...refOf(call) } };
    },
  }),
  restRoute({
    method: 'GET',
    path: '/v1/dead-letters',
    id: 'listDeadLetters',
    tag: 'runs',
    summary: 'List messages of your newest runs that will not be read, with the reasons',
    query: lettersQuery,
    replies: {
      200: jsonReply(
        'The messages.',
        openObject({
          letters: about(listOf(mailShape), 'Each with its `run`.'),
          more: about(boolean(), 'Whether there are older runs, which were not read.'),
          read: about(count, 'How many runs were read.'),
          damaged: about(texts, 'Runs whose logs cannot be read.'),
        }),
      ),
    },
    answer: async ({ caller }, { query: { runs = runsRead.default } }) => {
      return { status: 200, body: await service.deadLetters(caller, { runs }) };
    },
  }),
];
