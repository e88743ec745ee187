// The live agents of a run: lists them, starts others under them, sends them messages, asks them to finish.
import { CloisterError } from '#base';
import { about, listOf, object, openObject, string } from '#base/shapes';
import type { Of, Shape, ShapeFields } from '#base/shapes';
import type { AdmittedRequest, AgentService, CallerRun, HttpRoute, RouteReply, RunMessage } from '#contracts';
import { keyedMessageId, refuseKey, requestKey } from '#headends/shared';
import { answerReply, acceptedReply } from './ask-agent.ts';
import { jsonReply, noAnswerReplies, restRoute } from './described-route.ts';
import { liveAgentShape, startedAgentShape } from './live-agent-shapes.ts';
import { answerShape, begunShape, errorShape, runMessageShape } from './reply-shapes.ts';
import { messageShape, spawnShape } from './request-shapes.ts';
import { commandRun, notRunningReply, requireRun, requireRunning } from './run-routes.ts';

const withRun = (fields: ShapeFields): Shape => openObject({ run: string(), ...fields });

const afterQuery = object(
  {},
  {
    after: about(
      string(),
      'The id of the last message that you have taken: it and those before it are delivered, and those after it returned.',
    ),
  },
);

const finishReplies = {
  202: jsonReply('The request to finish was delivered.', begunShape),
  409: notRunningReply,
};

export const liveAgentRoutes = (service: AgentService): readonly HttpRoute[] => [
  ...mailRoutes(service),
  ...agentsOfRunRoutes(service),
];

const mailRoutes = (service: AgentService): readonly HttpRoute[] => [
  restRoute({
    method: 'GET',
    path: '/v1/runs/:run/messages',
    id: 'readMessages',
    tag: 'runs',
    summary: 'List the messages and answers of a run',
    description:
      'What an agent says unasked is marked. `delivered` is false until a client has taken a message: with its answer, from the events, or by asking for those after it.',
    query: afterQuery,
    replies: { 200: jsonReply('The messages, in order.', withRun({ messages: listOf(runMessageShape) })) },
    answer: async (call, { query }) => {
      const found = await requireRun(service, call);
      const messages = messagesAfter(await found.dialog(), query.after, found.session);
      return { status: 200, body: { run: found.summary.run, messages } };
    },
  }),
  restRoute({
    method: 'POST',
    path: '/v1/runs/:run/messages',
    id: 'writeMessage',
    tag: 'runs',
    summary: 'Send a message to an agent of a run, or publish it to a topic',
    description:
      'An idle resident run needs a run slot first. If no slot is free and the queue is full, nothing is sent. If the run is not running on this server, the message is stored for the process that runs or resumes it; its answer is read from there, unless nobody works on the run.',
    body: messageShape,
    replies: {
      200: jsonReply('The answer to the message.', answerShape),
      202: jsonReply(
        'The message is in the mailbox, or stored for it.',
        withRun({ message: about(string(), 'The id of the message.') }),
      ),
      409: notRunningReply,
      ...noAnswerReplies(answerShape),
    },
    answer: (call, { body }) => sendMail(service, call, body),
  }),
];

const agentsOfRunRoutes = (service: AgentService): readonly HttpRoute[] => [
  restRoute({
    method: 'GET',
    path: '/v1/runs/:run/agents',
    id: 'listLivingAgents',
    tag: 'runs',
    summary: 'List the live agents of a run',
    replies: { 200: jsonReply('The agents.', withRun({ agents: listOf(liveAgentShape) })), 409: notRunningReply },
    answer: async (call) => {
      const { summary, session } = await requireRunning(service, call);
      return { status: 200, body: { run: summary.run, agents: session.agents() } };
    },
  }),
  restRoute({
    method: 'POST',
    path: '/v1/runs/:run/agents',
    id: 'spawnAgent',
    tag: 'runs',
    summary: 'Start an agent under a live agent of a run',
    description:
      'The `spawns` of the agent above decide what can be started, and how much; the result goes to that agent as a message. An idle resident run needs a run slot first.',
    body: spawnShape,
    replies: {
      201: jsonReply('The agent was started.', startedAgentShape),
      403: jsonReply('The agent above may not start it, or not now.', errorShape),
      409: notRunningReply,
    },
    answer: async (call, { body }) => {
      refuseKey(call, 'each agent is one of its own. To see whether it was started, list the live agents of the run.');
      const { summary, result } = await commandRun(service, call, { do: 'spawn', ...body });
      return { status: 201, body: { run: summary.run, ...result } };
    },
  }),
  restRoute({
    method: 'DELETE',
    path: '/v1/runs/:run/agents/:name',
    id: 'finishAgent',
    tag: 'runs',
    summary: 'Ask an agent of a run to finish',
    description: 'The agent ends once its current work is done.',
    replies: finishReplies,
    answer: (call) => finishSession(service, call, call.params['name']),
  }),
  restRoute({
    method: 'POST',
    path: '/v1/runs/:run/finish',
    id: 'finishRun',
    tag: 'runs',
    summary: 'Ask a resident run to finish',
    description: 'The run ends once its current work is done, and so do the agents it has started.',
    replies: finishReplies,
    answer: (call) => finishSession(service, call),
  }),
];

/** Whoever asks for the messages after one has taken that one and all before it. */
const messagesAfter = (
  messages: readonly RunMessage[],
  after: string | undefined,
  session: CallerRun['session'],
): RunMessage[] => {
  if (after === undefined) return [...messages];
  const index = messages.findIndex(({ message }) => message === after);
  if (index === -1) throw new CloisterError('request_invalid', 'after: the run has no message with this id.');
  for (const { by, message, delivered } of messages.slice(0, index + 1))
    if (by === 'agent' && message !== undefined && delivered !== true) session?.confirm(message);
  return messages.slice(index + 1);
};

const sendMail = async (
  service: AgentService,
  call: AdmittedRequest,
  body: Of<typeof messageShape>,
): Promise<RouteReply> => {
  const { answer: waits = false, ...message } = body;
  const key = requestKey(call.headers);
  const { summary: found } = await requireRun(service, call);
  const by = found.caller === call.caller.name ? undefined : call.caller.name;
  const id = key === undefined ? {} : { id: keyedMessageId(found.run, key, message, by) };
  const running = waits ? await requireRunning(service, call) : null;
  const { summary, result } = await commandRun(service, call, { do: 'send', ...message, ...id });
  return running === null
    ? { status: 202, body: { run: summary.run, message: result } }
    : answerReply(running, result, call);
};

/** Asks the agent to finish. It ends once its current work is done. */
const finishSession = async (service: AgentService, call: AdmittedRequest, name?: string): Promise<RouteReply> =>
  acceptedReply((await commandRun(service, call, { do: 'finish', name })).summary);
