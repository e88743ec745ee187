// The live agents of a run: lists them, starts others under them, sends them messages, asks them to finish.
import { CloisterError, omitUndefined } from '#base';
import type { Json } from '#base';
import type {
  AdmittedRequest,
  HttpRoute,
  OutsideSpawn,
  RouteReply,
  MessageTarget,
  AgentService,
  RunMessage,
  RunSession,
} from '#contracts';
import { BodyFields } from '#headends/shared';
import { answerReply, awaitAnswer } from './answer-reply.ts';
import { acceptedReply } from './ask-agent.ts';
import {
  finishAgentOperation,
  finishRunOperation,
  listLiveAgentsOperation,
  readMessagesOperation,
  sendMessageOperation,
  spawnAgentOperation,
} from './live-agent-operations.ts';
import { checkFieldNames } from './parse-body.ts';
import { Query, refuseQuery } from './parse-query.ts';
import { restError } from './rest-error.ts';
import { commandRun, requireRun, refuseQueryAndBody, requireRunning } from './run-routes.ts';

export const liveAgentRoutes = (service: AgentService): readonly HttpRoute[] => [
  {
    method: 'GET',
    path: '/v1/runs/:run/agents',
    formatError: restError,
    operation: listLiveAgentsOperation,
    answer: async (call) => {
      refuseQuery(call.query);
      const { summary, session } = await requireRunning(service, call);
      return { status: 200, body: { run: summary.run, agents: session.agents() } };
    },
  },
  {
    method: 'GET',
    path: '/v1/runs/:run/messages',
    formatError: restError,
    operation: readMessagesOperation,
    answer: async (call) => {
      const after = new Query(call.query, ['after']).text('after');
      const found = await requireRun(service, call);
      const messages = messagesAfter(await found.dialog(), after, found.session);
      return { status: 200, body: { run: found.summary.run, messages } };
    },
  },
  {
    method: 'POST',
    path: '/v1/runs/:run/messages',
    formatError: restError,
    operation: sendMessageOperation,
    answer: (call) => sendMail(service, call),
  },
  {
    method: 'POST',
    path: '/v1/runs/:run/agents',
    formatError: restError,
    operation: spawnAgentOperation,
    answer: (call) => spawnAgent(service, call),
  },
  {
    method: 'DELETE',
    path: '/v1/runs/:run/agents/:name',
    formatError: restError,
    operation: finishAgentOperation,
    answer: (call) => finishSession(service, call, call.params['name']),
  },
  {
    method: 'POST',
    path: '/v1/runs/:run/finish',
    formatError: restError,
    operation: finishRunOperation,
    answer: (call) => finishSession(service, call),
  },
];

/** Whoever asks for the messages after one has taken that one and all before it. */
const messagesAfter = (
  messages: readonly RunMessage[],
  after: string | undefined,
  session: RunSession | null,
): RunMessage[] => {
  if (after === undefined) return [...messages];
  const index = messages.findIndex(({ message }) => message === after);
  if (index === -1) throw new CloisterError('request_invalid', 'after: the run has no message with this id.');
  for (const { by, message } of messages.slice(0, index + 1))
    if (by === 'agent' && message !== undefined) session?.confirm(message);
  return messages.slice(index + 1);
};

const sendMail = async (service: AgentService, call: AdmittedRequest): Promise<RouteReply> => {
  refuseQuery(call.query);
  const { waits, ...message } = parseMailBody(call.body);
  const { summary, session, result } = await commandRun(service, call, { do: 'send', ...message });
  const { run } = summary;
  if (!waits) return { status: 202, body: { run, message: result } };
  return answerReply(run, await awaitAnswer(session, result, call.signal));
};

const spawnAgent = async (service: AgentService, call: AdmittedRequest): Promise<RouteReply> => {
  refuseQuery(call.query);
  const { summary, result } = await commandRun(service, call, { do: 'spawn', ...parseSpawnBody(call.body) });
  return { status: 201, body: { run: summary.run, ...result } };
};

/** Asks the agent to finish. It ends once its current work is done. */
const finishSession = async (service: AgentService, call: AdmittedRequest, name?: string): Promise<RouteReply> => {
  refuseQueryAndBody(call);
  return acceptedReply((await commandRun(service, call, { do: 'finish', name })).summary);
};

const spawnFields = ['agent', 'goal', 'parent', 'workflow', 'topics', 'metadata'] as const;

const parseSpawnBody = (body: Json | undefined): OutsideSpawn => {
  const fields = checkFieldNames(new BodyFields(body), spawnFields);
  const metadata = fields.optionalObject('metadata');
  if (Object.values(metadata ?? {}).some((note) => typeof note !== 'string'))
    throw fields.invalid('metadata', 'an object whose values are texts');
  const optional = omitUndefined({
    goal: fields.optionalText('goal'),
    parent: fields.optionalText('parent'),
    workflow: fields.optionalText('workflow'),
    topics: fields.has('topics') ? fields.texts('topics') : undefined,
    metadata: metadata as OutsideSpawn['metadata'],
  });
  return { agent: fields.text('agent'), ...optional };
};

type ParsedMail = MessageTarget & { readonly text: string; readonly waits: boolean };

const messageFields = ['text', 'to', 'topic', 'answer'] as const;

export const parseMailBody = (body: Json | undefined): ParsedMail => {
  const fields = checkFieldNames(new BodyFields(body), messageFields);
  const [to, topic, waits] = [fields.optionalText('to'), fields.optionalText('topic'), fields.flag('answer')];
  if (to !== undefined && topic !== undefined)
    throw new CloisterError('request_invalid', 'Set either `to` or `topic`, not both.');
  if (topic !== undefined && waits)
    throw new CloisterError(
      'request_invalid',
      'topic and answer cannot be combined: a published message has no answer.',
    );
  return {
    text: fields.text('text'),
    ...(to === undefined ? {} : { to }),
    ...(topic === undefined ? {} : { topic }),
    waits,
  };
};
