// MCP over HTTP with server-sent events, as its first protocol had it: one stream brings all answers, POSTs bring the questions.
//
//   E1. A session is the caller's who opened it; to everybody else it is unknown.
//   E2. It ends with its stream, and with it everything that was asked in it.
import { CloisterError } from '#base';
import type { Caller, RawRoute } from '#contracts';
import type { Connection } from './connection.ts';
import { eventHeaders, eventStream } from './event-stream.ts';
import { sessionsMax, sessionsPerCallerMax } from './limits.ts';
import { Outbox } from './outbox.ts';
import { randomId } from './random-id.ts';
import { rpcForm } from './rpc.ts';
import type { Serve } from './serve-connection.ts';
import type { McpWorld } from './server-for.ts';

type Session = { readonly caller: Caller; readonly connection: Connection };

const messagesPath = '/mcp/messages';

export const sseRoutes = (serve: Serve, world: McpWorld): readonly RawRoute[] => {
  const sessions = new Map<string, Session>();
  const stream: RawRoute = {
    methods: ['GET'],
    path: '/mcp/sse',
    form: rpcForm,
    answer: async (request, caller) => {
      refuseTooMany(sessions, caller);
      return openStream(request, caller, { sessions, serve, world });
    },
  };
  const messages: RawRoute = {
    methods: ['POST'],
    path: messagesPath,
    form: rpcForm,
    answer: async (request, caller, body) => {
      const session = sessions.get(new URL(request.url).searchParams.get('session') ?? '');
      if (session === undefined || session.caller.name !== caller.name)
        throw new CloisterError('route_unknown', 'There is no such session: GET /mcp/sse opens one.');
      const refused = session.connection.accept(body ?? null);
      if (refused !== null) return Response.json(refused.message, { status: refused.status });
      return new Response('Accepted', { status: 202 });
    },
  };
  return [stream, messages];
};

const refuseTooMany = (sessions: ReadonlyMap<string, Session>, caller: Caller): void => {
  const own = [...sessions.values()].filter((session) => session.caller.name === caller.name);
  if (sessions.size >= sessionsMax || own.length >= sessionsPerCallerMax)
    throw new CloisterError('server_busy', 'Too many streams are open: close those that are not used.');
};

type Opening = { readonly sessions: Map<string, Session>; readonly serve: Serve; readonly world: McpWorld };

const openStream = (request: Request, caller: Caller, { sessions, serve, world }: Opening): Response => {
  const id = randomId(world.ids);
  const outbox = new Outbox();
  const connection = serve(caller, {
    send: async (text) => outbox.put(eventOf('message', text)),
    hasRoom: () => outbox.hasRoom(),
    close: () => {
      sessions.delete(id);
      outbox.end();
    },
  });
  sessions.set(id, { caller, connection });
  const close = (): void => void connection.close();
  if (request.signal.aborted) close();
  request.signal.addEventListener('abort', close, { once: true });
  void outbox.put(eventOf('endpoint', `${messagesPath}?session=${id}`));
  const next = async (): Promise<Uint8Array | null> => {
    const text = await outbox.take();
    return text === null ? null : new TextEncoder().encode(text);
  };
  return new Response(eventStream(world.clock, { next, closed: close }), { headers: eventHeaders });
};

/** JSON and addresses hold no line ends, so no text in them can begin another event. */
const eventOf = (event: string, data: string): string => `event: ${event}\ndata: ${data}\n\n`;
