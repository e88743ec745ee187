// The agents that live in a run: listed, written to, asked to finish.
import { CloisterError } from '#base';
import type { Json } from '#base';
import type { AdmittedRequest, HttpRoute, RouteReply, MessageTarget, AgentService } from '#contracts';
import { BodyFields } from '#headends/shared';
import { answerReply, answerTo } from './answer-to.ts';
import { acceptedReply } from './ask-agent.ts';
import {
  finishAgent,
  finishRun,
  listLiveAgentsOperation,
  readAnswerOperation,
  writeTo,
} from './live-agent-operations.ts';
import { knownFields } from './parse-body.ts';
import { refuseQuery } from './parse-query.ts';
import { restError } from './rest-error.ts';
import { requireRun, refuseFurther, requireRunning } from './run-routes.ts';

export const liveAgentRoutes = (serving: AgentService): readonly HttpRoute[] => [
  {
    method: 'GET',
    path: '/v1/runs/:run/agents',
    form: restError,
    operation: listLiveAgentsOperation,
    answer: async (call) => {
      refuseQuery(call.query);
      const { summary, session } = await requireRunning(serving, call);
      return { status: 200, body: { run: summary.run, agents: session.agents() } };
    },
  },
  {
    method: 'GET',
    path: '/v1/runs/:run/messages',
    form: restError,
    operation: readAnswerOperation,
    answer: async (call) => {
      refuseQuery(call.query);
      const found = await requireRun(serving, call);
      return { status: 200, body: { run: found.summary.run, messages: await found.said() } };
    },
  },
  {
    method: 'POST',
    path: '/v1/runs/:run/messages',
    form: restError,
    operation: writeTo,
    answer: (call) => write(serving, call),
  },
  {
    method: 'DELETE',
    path: '/v1/runs/:run/agents/:name',
    form: restError,
    operation: finishAgent,
    answer: (call) => finish(serving, call, call.params['name']),
  },
  {
    method: 'POST',
    path: '/v1/runs/:run/finish',
    form: restError,
    operation: finishRun,
    answer: (call) => finish(serving, call),
  },
];

/** It is asked; it ends when it is done with what it does. */
const finish = async (serving: AgentService, call: AdmittedRequest, name?: string): Promise<RouteReply> => {
  refuseFurther(call);
  const { summary, session } = await requireRunning(serving, call);
  session.finish(name);
  return acceptedReply(summary);
};

const write = async (serving: AgentService, call: AdmittedRequest): Promise<RouteReply> => {
  refuseQuery(call.query);
  const { text, sending, waits } = parseMailBody(call.body);
  const { summary, session } = await requireRunning(serving, call);
  const message = await serving.sendMessage(call.caller, summary.run, { text, ...sending }, call.signal);
  if (!waits) return { status: 202, body: { run: summary.run, message } };

  return answerReply(summary.run, await answerTo(session, message, call.signal));
};

type Message = {
  readonly text: string;
  readonly sending: MessageTarget;
  readonly waits: boolean;
};

const messageNames = ['text', 'to', 'topic', 'answer'] as const;

export const parseMailBody = (body: Json | undefined): Message => {
  const fields = knownFields(new BodyFields(body), messageNames);
  const [to, topic, waits] = [fields.optionalText('to'), fields.optionalText('topic'), fields.flag('answer')];
  if (to !== undefined && topic !== undefined)
    throw new CloisterError(
      'request_invalid',
      'to and topic: not both. Write to one agent, or to all who hear a topic.',
    );
  if (topic !== undefined && waits)
    throw new CloisterError('request_invalid', 'topic and answer: not both. What is published asks for no answer.');
  return {
    text: fields.text('text'),
    sending: { ...(to === undefined ? {} : { to }), ...(topic === undefined ? {} : { topic }) },
    waits,
  };
};
