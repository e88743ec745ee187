// The agents that live in a run: listed, written to, asked to finish.
import { CloisterError } from '#base';
import type { Json } from '#base';
import type { Call, Route, RouteReply, Sending, Serving } from '#contracts';
import { Fields } from '#headends/wire';
import { answerReply, answerTo } from './answer-to.ts';
import { begunReply } from './ask-agent.ts';
import { finishAgent, finishRun, listLiving, readSaid, writeTo } from './living-operations.ts';
import { knownFields } from './parse-body.ts';
import { refuseQuery } from './parse-query.ts';
import { restError } from './rest-error.ts';
import { findRun, refuseFurther, underWay } from './run-routes.ts';

export const livingRoutes = (serving: Serving): readonly Route[] => [
  {
    method: 'GET',
    path: '/v1/runs/:run/agents',
    form: restError,
    operation: listLiving,
    answer: async (call) => {
      refuseQuery(call.query);
      const { summary, session } = await underWay(serving, call);
      return { status: 200, body: { run: summary.run, agents: session.agents() } };
    },
  },
  {
    method: 'GET',
    path: '/v1/runs/:run/messages',
    form: restError,
    operation: readSaid,
    answer: async (call) => {
      refuseQuery(call.query);
      const found = await findRun(serving, call);
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
const finish = async (serving: Serving, call: Call, name?: string): Promise<RouteReply> => {
  refuseFurther(call);
  const { summary, session } = await underWay(serving, call);
  session.finish(name);
  return begunReply(summary);
};

const write = async (serving: Serving, call: Call): Promise<RouteReply> => {
  refuseQuery(call.query);
  const { text, sending, waits } = parseMessage(call.body);
  const { summary, session } = await underWay(serving, call);
  const message = await serving.write(call.caller, summary.run, { text, ...sending }, call.signal);
  if (!waits) return { status: 202, body: { run: summary.run, message } };

  return answerReply(summary.run, await answerTo(session, message, call.signal));
};

type Message = {
  readonly text: string;
  readonly sending: Sending;
  readonly waits: boolean;
};

const messageNames = ['text', 'to', 'topic', 'answer'] as const;

export const parseMessage = (body: Json | undefined): Message => {
  const fields = knownFields(new Fields(body), messageNames);
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
