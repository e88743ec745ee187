// The MCP server object of one caller: one tool for each agent that the caller may run.
//
//   mcp-server-own-caller. It sees only the agents and runs of its caller; the signal of a request cancels the whole run.
//   mcp-failure-catalogue-text. Every failure is reported in the texts of the catalogue: no stack, no secret, and nothing of
//       another cell unless the caller sees causes.
import type { CallToolResult, InputRequiredResult, Server, ServerContext } from '@modelcontextprotocol/server';
import { unknownAgentError } from '#base';
import type { JsonObject } from '#base';
import type { Agent, AgentRequest, AgentService, Caller, CallerQuestion, RunEvent, ServedRun } from '#contracts';
import { checkKey, clientError } from '#headends/shared';
import { approvalNeeded, canBeAsked, continueCall, continuedRun, inputRequiredResult } from './agent-questions.ts';
import { agentAsTool, readArguments, errorResult, toToolResult } from './agent-tool.ts';
import { progressBurst, progressPerSecond } from './limits.ts';
import { rpcCodes, clientFailureText } from './rpc.ts';
import type { Backpressure, McpLibrary, ServerFactory } from './server-factory.ts';

const instructions =
  'Each tool is an agent: it takes a task, works on it with its own tools, and returns an answer. It sees only the ' +
  'arguments of the call, so include everything it needs to know. A call can take minutes: request progress ' +
  'notifications to follow it, and cancel calls you no longer need.';

export const agentServerFactory =
  (library: McpLibrary, service: AgentService, version: string): ServerFactory =>
  (caller, flow) => {
    const server: Server = new library.Server(
      { name: 'cloister', title: 'Cloister', version },
      { capabilities: { tools: {} }, instructions },
    );
    /** A failure before an agent runs is a protocol error, not a tool result. */
    const asProtocolError = <T>(look: () => T): T => {
      try {
        return look();
      } catch (error) {
        const failure = clientError(error);
        const code = failure.code === 'agent_unknown' ? rpcCodes.params : rpcCodes.internal;
        throw new library.ProtocolError(code, clientFailureText(failure));
      }
    };
    server.setRequestHandler('tools/list', () =>
      asProtocolError(() => ({ tools: service.agents(caller).map(agentAsTool) })),
    );
    server.setRequestHandler('tools/call', async ({ params }, context) => {
      const agent = asProtocolError(() => calledAgent(service.agents(caller), params.name));
      return callAgent(
        { library, serving: service, caller, agent, flow },
        (params.arguments ?? {}) as JsonObject,
        context,
      );
    });
    return server;
  };

/** Throws `agent_unknown`, also for agents that the caller may not run. */
const calledAgent = (agents: readonly Agent[], name: string): Agent => {
  const found = agents.find(({ signature: { toolName } }) => toolName === name);
  if (found !== undefined) return found;
  const names = agents.map(({ signature: { toolName } }) => toolName);
  throw unknownAgentError(name, names, 'this token may not run any agent.');
};

type ToolCallContext = {
  readonly library: McpLibrary;
  readonly serving: AgentService;
  readonly caller: Caller;
  readonly agent: Agent;
  readonly flow: Backpressure;
};

/** The headers of HTTP belong to a connection here, so a key comes with the call. Throws `request_invalid`. */
const withKey = (request: AgentRequest, { _meta }: Pick<ServerContext['mcpReq'], '_meta'>): AgentRequest => {
  const key = checkKey(_meta?.['cloister/key'], '_meta["cloister/key"]');
  return key === undefined ? request : { ...request, key };
};

const callAgent = async (
  { library, serving: service, caller, agent, flow }: ToolCallContext,
  args: JsonObject,
  { mcpReq }: ServerContext,
): Promise<CallToolResult | InputRequiredResult> => {
  try {
    const { request, format } = readArguments(agent, args);
    const continued = continuedRun(mcpReq);
    const run = await (continued === undefined
      ? service.startRun(caller, withKey(request, mcpReq), mcpReq.signal)
      : continueCall(service, { caller, agent, run: continued }, mcpReq));
    const progress = { isOver: false };
    const ended = Promise.all([run.outcome, sendRunProgress(run, flow, mcpReq, progress)]);
    const first = await (run.asked === undefined ? ended : Promise.race([ended, run.asked().then(asQuestions)]));
    progress.isOver = true;
    if (!('questions' in first)) return toToolResult(agent, format, first[0], await run.causes());
    if (!canBeAsked(library, mcpReq)) throw approvalNeeded(first.questions);
    return inputRequiredResult(library, first.questions);
  } catch (error) {
    return errorResult(error);
  }
};

const asQuestions = (questions: readonly CallerQuestion[]) => ({ questions });

/** Sends the progress of a run to a client that asked for it. Ends before the answer is sent. */
const sendRunProgress = async (
  run: ServedRun,
  flow: Backpressure,
  { _meta, notify }: ServerContext['mcpReq'],
  call: { readonly isOver: boolean },
): Promise<void> => {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return;
  const notifyProgress = async (note: ProgressNote): Promise<void> => {
    // The run may outlive a call that ended with a question.
    if (!call.isOver) await notify({ method: 'notifications/progress', params: { progressToken, ...note } });
  };
  // The client chooses the token, and it may be long.
  const overhead = notificationBytes + Buffer.byteLength(JSON.stringify(progressToken));
  const take = (bytes: number): boolean => flow.tryReserve(bytes + overhead);
  // The call is still answered if progress cannot be sent.
  await sendProgress(run.events(), { tryReserve: take }, notifyProgress).catch(() => undefined);
};

/** Upper bound for a progress notification without its token and message. */
const notificationBytes = 200;

// Progress notifications: who does what while an agent works. They hold names only, no content of any cell.
export type ProgressNote = { readonly progress: number; readonly message: string };

/** Ends with the events. Drops what exceeds the rate, and what a slow client has no room for. */
export const sendProgress = async (
  events: AsyncIterable<RunEvent>,
  flow: Backpressure,
  send: (note: ProgressNote) => Promise<void>,
): Promise<void> => {
  let [sent, left, at] = [0, progressBurst, 0];
  for await (const event of events) {
    const message = progressText(event);
    if (message === null || !('at' in event)) continue;
    if (at !== 0) left = Math.min(progressBurst, left + (Math.max(0, event.at - at) * progressPerSecond) / 1_000);
    at = event.at;
    if (left < 1 || !flow.tryReserve(Buffer.byteLength(message))) continue;
    left -= 1;
    // If sending fails, the client is gone; the end of the connection is handled elsewhere.
    await send({ progress: ++sent, message }).catch(() => undefined);
  }
};

const progressText = (event: RunEvent): string | null => {
  switch (event.type) {
    case 'child-start':
      return `${event.agent} called ${event.childAgent}.`;
    case 'child-end':
      return `${event.childAgent} returned to ${event.agent}: ${event.status}.`;
    case 'tool-start':
      return `${event.agent} called the tool ${event.tool}.`;
    case 'tool-end':
      return `The tool ${event.tool} of ${event.agent} ${event.ok ? 'succeeded' : 'failed'}.`;
    case 'question':
      return event.why === 'client' ? null : `${event.agent} waits for an answer: ${event.question} (${event.tool}).`;
    default:
      return null;
  }
};
