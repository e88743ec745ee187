// The server object of one caller: one tool per agent that the caller may ask.
//
//   M1. It knows its caller and nobody else's agents or runs; a request's signal cancels the whole run.
//   M2. Every failure is told in the catalogue's words: no stack, no secret, nothing of another cell.
import { clientError } from '#headends/shared';
import type { CallToolResult, Server, ServerContext } from '@modelcontextprotocol/server';
import type { JsonObject } from '#base';
import type { Agent, Caller, ServedRun, AgentService } from '#contracts';
import { servedAgent } from '#headends/shared';
import { agentAsTool } from './agent-tool.ts';
import { errorResult, toToolResult } from './call-result.ts';
import { readArguments } from './read-arguments.ts';
import { rpcCodes, wordsOf } from './rpc.ts';
import type { Flow, Library, ServerFor } from './server-for.ts';
import { tellProgress } from './tell-progress.ts';
import type { ProgressNote } from './tell-progress.ts';

const instructions =
  'Each tool is an agent: it is given a task, works on it with means of its own, and answers. It sees nothing but the ' +
  'arguments of the call, so put everything that it must know into them. A call can take minutes; ask for progress to see ' +
  'what is being done, and cancel what is not wanted any more.';

export const agentServerFor =
  (library: Library, serving: AgentService, version: string): ServerFor =>
  (caller, flow) => {
    const server: Server = new library.Server(
      { name: 'cloister', title: 'Cloister', version },
      { capabilities: { tools: {} }, instructions },
    );
    /** What goes wrong before an agent is asked is an error of the protocol. */
    const looked = <T>(look: () => T): T => {
      try {
        return look();
      } catch (error) {
        const failure = clientError(error);
        const code = failure.code === 'agent_unknown' ? rpcCodes.params : rpcCodes.internal;
        throw new library.ProtocolError(code, wordsOf(failure));
      }
    };
    server.setRequestHandler('tools/list', () => looked(() => ({ tools: serving.agents(caller).map(agentAsTool) })));
    server.setRequestHandler('tools/call', async ({ params }, context) => {
      const agent = looked(() => servedAgent(serving, caller, params.name));
      return callAgent({ serving, caller, agent, flow }, (params.arguments ?? {}) as JsonObject, context);
    });
    return server;
  };

type ToolCallContext = {
  readonly serving: AgentService;
  readonly caller: Caller;
  readonly agent: Agent;
  readonly flow: Flow;
};

const callAgent = async (
  { serving, caller, agent, flow }: ToolCallContext,
  args: JsonObject,
  { mcpReq }: ServerContext,
): Promise<CallToolResult> => {
  try {
    const { asked, format } = readArguments(agent, args);
    const run = await serving.startRun(caller, asked, mcpReq.signal);
    const [outcome] = await Promise.all([run.outcome, following(run, flow, mcpReq)]);
    return toToolResult(agent, format, outcome);
  } catch (error) {
    return errorResult(error);
  }
};

/** Tells what goes on in a run to a client that wants to know. All of it is told before the answer is. */
const following = async (run: ServedRun, flow: Flow, { _meta, notify }: ServerContext['mcpReq']): Promise<void> => {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return;
  const tell = async (note: ProgressNote): Promise<void> =>
    notify({ method: 'notifications/progress', params: { progressToken, ...note } });
  // The token is the client's, and may be long.
  const around = noteBytes + Buffer.byteLength(JSON.stringify(progressToken));
  const take = (bytes: number): boolean => flow.take(bytes + around);
  // Whoever cannot be told is still answered.
  await tellProgress(run.events(), { take }, tell).catch(() => undefined);
};

/** Of a note, without its token and its words. */
const noteBytes = 200;
