// The routes for front ends that use the AI SDK's UI message stream, such as `useChat`.
//
//   ui-stream-own-chats. A chat belongs to a caller and an agent: to everybody else, nothing runs in it.
//   ui-stream-done. A stream ends with `[DONE]`, after exactly one chunk that says how it ended: finish, abort or error.
import { CloisterError } from '#base';
import type {
  AdmittedRequest,
  AgentService,
  Caller,
  ErrorFormatter,
  HttpRoute,
  RouteReply,
  ServedRun,
  ServerEvent,
} from '#contracts';
import {
  answerAndFollow,
  clientTools,
  followActivity,
  leaveQueueOnDisconnect,
  startOrContinue,
} from '#headends/shared';
import type { FollowActivity } from '#headends/shared';
import { ChatRuns } from './chat-runs.ts';
import { chatOperation, resumeOperation, stopOperation } from './operations.ts';
import { parseChatRequest } from './parse-chat-request.ts';
import type { ChatRequest } from './parse-chat-request.ts';
import { UiChunks } from './ui-chunks.ts';
import type { MessageStart } from './ui-chunks.ts';

/** `formatError`: of errors before the stream starts. */
export const uiStreamRoutes = (
  service: AgentService,
  { formatError }: { readonly formatError: ErrorFormatter },
): readonly HttpRoute[] => {
  const chats = new ChatRuns();
  const path = '/ui/:agent/:chat/stream';
  return [
    {
      method: 'POST',
      path: '/ui/:agent',
      formatError,
      operation: chatOperation(service.clients),
      answer: (call) => answerChat(service, chats, call),
    },
    {
      method: 'GET',
      path,
      formatError,
      operation: resumeOperation,
      answer: (call) => resumeStream(service, chats, call),
    },
    {
      method: 'DELETE',
      path,
      formatError,
      operation: stopOperation,
      answer: async (call) => {
        const run = await runningIn(service, chats, call);
        if (run !== null) await service.do(call.caller, run, { do: 'cancel' });
        return nothing;
      },
    },
  ];
};

const nothing: RouteReply = { status: 204, body: undefined };

const agentOf = (service: AgentService, { caller, params }: AdmittedRequest): string =>
  service.agent(caller, params['agent'] ?? '').name;

const seesContents = ({ sees }: Caller): boolean => sees === 'contents';

/** Everything that can be refused is refused before the stream starts. */
const answerChat = async (service: AgentService, chats: ChatRuns, call: AdmittedRequest): Promise<RouteReply> => {
  const agent = agentOf(service, call);
  const request = parseChatRequest(call.body, agent, service.clients);
  const reply = (run: ServedRun, followed: FollowActivity, start: MessageStart): RouteReply => {
    chats.note(call.caller, agent, request.chat, run.run);
    return streamReply(followed, start);
  };
  if (request.answers.length > 0) {
    const { answers, isDetached, answeredCalls } = request;
    const details = seesContents(call.caller);
    const { run, known } = await answerAndFollow(service, call, { agent, answers, details, isDetached });
    return reply(run, followActivity(run, { known }), { run, shownCalls: answeredCalls });
  }
  const { run, isContinued } = await startRun(service, call, request);
  const known = isContinued ? { frame: request.resultsFrame } : undefined;
  return reply(run, followActivity(run, { known }), isContinued ? { run, shownCalls: [] } : { run });
};

const startRun = async (
  service: AgentService,
  call: AdmittedRequest,
  { newRequest, results, userTexts, isDetached }: ChatRequest,
): Promise<{ readonly run: ServedRun; readonly isContinued: boolean }> => {
  const { caller, headers } = call;
  const request = { ...newRequest(), stream: true, details: seesContents(caller), readsEvents: true };
  const from = { results, userTexts, newRequest: () => request, headers, ...clientTools(request) };
  const start = (signal: AbortSignal): Promise<ServedRun> => startOrContinue(service, caller, from, signal);
  const run = await (isDetached ? leaveQueueOnDisconnect(call, start) : start(call.signal));
  return { run, isContinued: results.length > 0 && (run.nth ?? 1) > 1 };
};

/** From the start of the message: the client replaces what it has. */
const resumeStream = async (service: AgentService, chats: ChatRuns, call: AdmittedRequest): Promise<RouteReply> => {
  const id = await runningIn(service, chats, call);
  if (id === null) return nothing;
  const details = seesContents(call.caller);
  const run = await service.questions.followRun(call.caller, id, { events: { details } }).catch(nullIfNotHere);
  return run === null ? nothing : streamReply(followActivity(run, { isReplay: true }), { run });
};

/** The run of this chat, if it is running here; else null. */
const runningIn = async (service: AgentService, chats: ChatRuns, call: AdmittedRequest): Promise<string | null> => {
  const run = chats.find(call.caller, agentOf(service, call), call.params['chat'] ?? '');
  // probe: chat-run-found
  const found = run === undefined ? null : await service.find(call.caller, run).catch(nullIfNotHere);
  return found?.session == null ? null : found.summary.run;
};

const nullIfNotHere = (error: unknown): null => {
  if (error instanceof CloisterError && (error.code === 'run_owned' || error.code === 'run_unknown')) return null;
  throw error;
};

const streamReply = (followed: FollowActivity, start: MessageStart): RouteReply => ({
  events: uiStream(followed, start),
  headers: { 'x-vercel-ai-ui-message-stream': 'v1' },
});

async function* uiStream({ steps, fold }: FollowActivity, start: MessageStart): AsyncGenerator<ServerEvent> {
  const chunks = new UiChunks(start);
  const sent = (all: readonly object[]): readonly ServerEvent[] => all.map((one) => ({ data: JSON.stringify(one) }));
  yield* sent(chunks.start());
  for await (const step of steps) {
    if (step.type === 'end') yield* sent(chunks.end(step.end, fold.usage));
    else if (step.isKnown) chunks.learn(step.activity);
    else yield* sent(chunks.next(step.activity));
  }
  yield { data: '[DONE]' };
}
