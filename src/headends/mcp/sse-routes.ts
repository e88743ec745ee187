// MCP over HTTP with server-sent events, as its first protocol had it: one stream brings all answers, POSTs bring the questions.
//
//   E1. A session is the caller's who opened it; to everybody else it is unknown.
//   E2. It ends with its stream, and with it everything that was asked in it.
import { CloisterError } from '#base';
import type { AdmittedRequest, Caller, RouteReply, ServerEvent, PlainRoute } from '#contracts';
import type { McpServerConnection } from './connection.ts';
import { sessionsMax, sessionsPerCallerMax } from './limits.ts';
import { Outbox } from './outbox.ts';
import { randomId } from './random-id.ts';
import { rpcForm } from './rpc.ts';
import type { Serve } from './serve-connection.ts';
import type { McpWorld } from './server-for.ts';

type Session = { readonly caller: Caller; readonly connection: McpServerConnection };

const messagesPath = '/mcp/messages';

export const sseRoutes = (serve: Serve, world: McpWorld): readonly PlainRoute[] => {
  const sessions = new Map<string, Session>();
  const stream: PlainRoute = {
    method: 'GET',
    path: '/mcp/sse',
    form: rpcForm,
    answer: async (call) => {
      if (world.isStopping()) throw new CloisterError('server_stopping');
      refuseTooMany(sessions, call.caller);
      return openStream(call, { sessions, serve, world });
    },
  };
  const messages: PlainRoute = {
    method: 'POST',
    path: messagesPath,
    form: rpcForm,
    answer: async ({ caller, query, body }) => {
      const session = sessions.get(query.get('session') ?? '');
      // probe: mcp-session-of-caller
      if (session === undefined || session.caller.name !== caller.name)
        throw new CloisterError('route_unknown', 'There is no such session: GET /mcp/sse opens one.');
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
    throw new CloisterError('server_busy', 'Too many streams are open: close those that are not used.');
};

type Opening = { readonly sessions: Map<string, Session>; readonly serve: Serve; readonly world: McpWorld };

const openStream = ({ caller, signal }: AdmittedRequest, { sessions, serve, world }: Opening): RouteReply => {
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
  return { events: eventsOf(outbox, `${messagesPath}?session=${id}`, close) };
};

/** First where to ask, then all that is answered. Can be left while it waits. */
const eventsOf = (outbox: Outbox, endpoint: string, left: () => void): AsyncIterable<ServerEvent> => {
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
