// MCP over streamable HTTP: every POST is an exchange of its own, and nothing is kept between two of them.
//
//   H1. A server object serves one request of one caller.
//   H2. An exchange ends with its client: the signal of the request, and the end of its body, cancel what it began.
//   H3. A cancellation that comes with another POST ends an exchange only if that is the only one of the same caller, client
//       and id. The client is known by a tag that its `initialize` was answered with; without one, nothing is cancelled.
import type { AuthInfo, McpHttpHandler } from '@modelcontextprotocol/server';
import { CloisterError, isObject } from '#base';
import type { Json } from '#base';
import type { Caller, RouteReply, PlainRoute } from '#contracts';
import { Exchange, Exchanges } from './exchange.ts';
import { sessionsMax } from './limits.ts';
import { randomId } from './random-id.ts';
import { cancelledIn, idIn, rpcRefusal, rpcCodes, rpcForm } from './rpc.ts';
import type { Flow, Library, McpWorld, ServerFor } from './server-for.ts';

const tagHeader = 'mcp-session-id';

export const httpRoute = (library: Library, serverFor: ServerFor, world: McpWorld): PlainRoute => {
  const handlers = handlersOf(library, serverFor);
  const exchanges = new Exchanges();
  return {
    method: 'POST',
    path: '/mcp',
    form: rpcForm,
    answer: async (call) => {
      const { caller, body, headers, signal } = call;
      if (body === undefined || Array.isArray(body)) return { status: oneMessage.status, body: oneMessage.message };
      const tag = headers.get(tagHeader);
      const cancelled = cancelledIn(body);
      if (cancelled !== null) {
        if (tag !== null) exchanges.cancel(keyOf(caller, tag, cancelled));
        return { status: 202, body: undefined };
      }

      // The library would not notice, and begin what nobody waits for.
      if (signal.aborted) throw new CloisterError('cancelled');
      const exchange = new Exchange(signal);
      const id = idIn(body);
      const forget = tag === null || id === null ? nothing : exchanges.enter(keyOf(caller, tag, id), exchange);
      const leave = (): void => {
        forget();
        exchange.over();
      };
      const handler = methodOf(body) === 'tools/call' ? handlers.calls : handlers.others;
      const response = await handler
        .fetch(exchange.requestOf(call), { parsedBody: body, authInfo: forServer({ caller, flow: exchange }) })
        .catch((error: unknown) => {
          leave();
          throw error;
        });
      const isNew = methodOf(body) === 'initialize' && response.ok;
      return {
        ...(await replyOf(response, exchange, leave)),
        ...(isNew ? { headers: { [tagHeader]: randomId(world.ids) } } : {}),
      };
    },
  };
};

const nothing = (): void => undefined;

const oneMessage = rpcRefusal(400, rpcCodes.request, 'Send one JSON-RPC message at a time.');

/** What the library has made a response of, as data again: bytes are the HTTP headend's. */
const replyOf = async (response: Response, exchange: Exchange, leave: () => void): Promise<RouteReply> => {
  const { status, body } = response;
  if (body !== null && response.headers.get('content-type') === 'text/event-stream')
    return { events: exchange.eventsIn(body, leave) };
  leave();
  return { status, body: body === null ? undefined : ((await response.json()) as Json) };
};

const methodOf = (body: Json): Json | undefined => (isObject(body) ? body['method'] : undefined);

/** What the library hands through to the maker of the server object. */
type Served = { readonly caller: Caller; readonly flow: Flow };

const forServer = (served: Served): AuthInfo => ({
  token: '',
  clientId: served.caller.name,
  scopes: [],
  extra: { served },
});

/** A call is always answered by a stream: it may take long, and what lies between would cut a silent connection. */
const handlersOf = (library: Library, serverFor: ServerFor): { calls: McpHttpHandler; others: McpHttpHandler } => {
  const make = (responseMode: 'sse' | 'auto'): McpHttpHandler =>
    library.createMcpHandler(
      ({ authInfo }) => {
        const served = authInfo?.extra?.['served'] as Served;
        return serverFor(served.caller, served.flow);
      },
      { responseMode, keepAliveMs: 0, maxSubscriptions: sessionsMax },
    );
  return { calls: make('sse'), others: make('auto') };
};

const keyOf = (caller: Caller, tag: string, id: string | number): string => JSON.stringify([caller.name, tag, id]);
