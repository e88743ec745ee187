// MCP over HTTP with server-sent events, as in the first version of the protocol: requests come as POSTs, all answers on one stream.
//
//   sse-session-own-caller. A session belongs to the caller who opened it; for every other caller it does not exist.
//   sse-session-ends-with-stream. So does every call made in it.
import { CloisterError } from '#base';
import type { AdmittedRequest, Caller, RouteReply, ServerEvent, PlainRoute } from '#contracts';
import type { McpServerConnection } from './connection.ts';
import { sessionsMax, sessionsPerCallerMax } from './limits.ts';
import { randomId } from './server-factory.ts';
import { Outbox } from './outbox.ts';
import { rpcError } from './rpc.ts';
import type { ServeClient } from './connection.ts';
import type { McpWorld } from './server-factory.ts';

type Session = { readonly caller: Caller; readonly connection: McpServerConnection };

const messagesPath = '/mcp/messages';

export const sseRoutes = (serve: ServeClient, world: McpWorld): readonly PlainRoute[] => {
  const sessions = new Map<string, Session>();
  const stream: PlainRoute = {
    method: 'GET',
    path: '/mcp/sse',
    formatError: rpcError,
    answer: async (call) => {
      if (world.isStopping()) throw new CloisterError('server_stopping');
      refuseTooMany(sessions, call.caller);
      return openStream(call, { sessions, serve, world });
    },
  };
  const messages: PlainRoute = {
    method: 'POST',
    path: messagesPath,
    formatError: rpcError,
    answer: async ({ caller, query, body }) => {
      const session = sessions.get(query.get('session') ?? '');
      // probe: mcp-session-of-caller
      if (session === undefined || session.caller.name !== caller.name)
        throw new CloisterError('route_unknown', 'Unknown session. Open one with GET /mcp/sse.');
      const refused = session.connection.accept(body ?? null);
      return refused === null ? { status: 202, body: undefined } : { status: refused.status, body: refused.message };
    },
  };
  return [stream, messages];
};

const refuseTooMany = (sessions: ReadonlyMap<string, Session>, caller: Caller): void => {
  // probe: mcp-streams-of-caller
  const own = [...sessions.values()].filter((session) => session.caller.name === caller.name);
  if (sessions.size >= sessionsMax || own.length >= sessionsPerCallerMax)
    throw new CloisterError('server_busy', 'Too many streams are open. Close the ones you do not use.');
};

type StreamContext = { readonly sessions: Map<string, Session>; readonly serve: ServeClient; readonly world: McpWorld };

const openStream = ({ caller, signal }: AdmittedRequest, { sessions, serve, world }: StreamContext): RouteReply => {
  const id = randomId(world.ids);
  const outbox = new Outbox();
  const connection = serve(caller, {
    outbox,
    close: () => {
      sessions.delete(id);
      outbox.end();
    },
  });
  sessions.set(id, { caller, connection });
  const close = (): void => void connection.close();
  if (signal.aborted) close();
  signal.addEventListener('abort', close, { once: true });
  return { events: outboxEvents(outbox, `${messagesPath}?session=${id}`, close) };
};

/** First the path to post messages to, then all answers. Not a generator, so that it can be ended while it waits. */
const outboxEvents = (outbox: Outbox, endpoint: string, left: () => void): AsyncIterable<ServerEvent> => {
  let first: ServerEvent | null = { event: 'endpoint', data: endpoint };
  const next = async (): Promise<IteratorResult<ServerEvent>> => {
    if (first !== null) {
      const value = first;
      first = null;
      return { done: false, value };
    }
    const data = await outbox.take();
    return data === null ? { done: true, value: undefined } : { done: false, value: { event: 'message', data } };
  };
  const leave = async (): Promise<IteratorResult<ServerEvent>> => {
    left();
    return { done: true, value: undefined };
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: leave }) };
};
