// MCP over streamable HTTP: each POST is a separate exchange, and no state is kept between them.
//
//   mcp-server-per-request. A server object serves one request of one caller.
//   mcp-exchange-ends-with-client. The signal of the request, or the end of the response body, cancels what the exchange
//       started.
//   mcp-cancel-unambiguous. A cancellation in another POST ends an exchange only if it is the only one with that caller,
//       client and id. The client is identified by the tag in the response to its `initialize`; without a tag, nothing is
//       cancelled.
import type { AuthInfo, McpHttpHandler } from '@modelcontextprotocol/server';
import { CloisterError, isObject } from '#base';
import type { Json } from '#base';
import type { Caller, RouteReply, PlainRoute } from '#contracts';
import { HttpExchange, OpenExchanges } from './exchange.ts';
import { sessionsMax } from './limits.ts';
import { randomId } from './random-id.ts';
import { readCancelledId, readRpcId, rpcRefusal, rpcCodes, rpcError } from './rpc.ts';
import type { Backpressure, McpLibrary, McpWorld, ServerFactory } from './server-factory.ts';

const tagHeader = 'mcp-session-id';

export const httpRoute = (library: McpLibrary, serverFor: ServerFactory, world: McpWorld): PlainRoute => {
  const handlers = createHandlers(library, serverFor);
  const exchanges = new OpenExchanges();
  return {
    method: 'POST',
    path: '/mcp',
    formatError: rpcError,
    answer: async (call) => {
      const { caller, body, headers, signal } = call;
      if (body === undefined || Array.isArray(body))
        return { status: oneMessageRefusal.status, body: oneMessageRefusal.message };
      const tag = headers.get(tagHeader);
      const cancelled = readCancelledId(body);
      if (cancelled !== null) {
        if (tag !== null) exchanges.cancel(exchangeKey(caller, tag, cancelled));
        return { status: 202, body: undefined };
      }

      // The library would not notice, and would start a call that nobody waits for.
      if (signal.aborted) throw new CloisterError('cancelled');
      const exchange = new HttpExchange(signal);
      const id = readRpcId(body);
      const forget = tag === null || id === null ? nothing : exchanges.add(exchangeKey(caller, tag, id), exchange);
      const leave = (): void => {
        forget();
        exchange.close();
      };
      const handler = rpcMethod(body) === 'tools/call' ? handlers.calls : handlers.others;
      const response = await handler
        .fetch(exchange.libraryRequest(call), { parsedBody: body, authInfo: authInfoFor({ caller, flow: exchange }) })
        .catch((error: unknown) => {
          leave();
          throw error;
        });
      const isNew = rpcMethod(body) === 'initialize' && response.ok;
      return {
        ...(await toRouteReply(response, exchange, leave)),
        ...(isNew ? { headers: { [tagHeader]: randomId(world.ids) } } : {}),
      };
    },
  };
};

const nothing = (): void => undefined;

const oneMessageRefusal = rpcRefusal(400, rpcCodes.request, 'Send one JSON-RPC message at a time.');

/** Turns the library's Response back into data, because only the HTTP headend writes bytes. */
const toRouteReply = async (response: Response, exchange: HttpExchange, leave: () => void): Promise<RouteReply> => {
  const { status, body } = response;
  if (body !== null && response.headers.get('content-type') === 'text/event-stream')
    return { events: exchange.readEvents(body, leave) };
  leave();
  return { status, body: body === null ? undefined : ((await response.json()) as Json) };
};

const rpcMethod = (body: Json): Json | undefined => (isObject(body) ? body['method'] : undefined);

/** What the library passes on to the server factory. */
type ClientContext = { readonly caller: Caller; readonly flow: Backpressure };

const authInfoFor = (served: ClientContext): AuthInfo => ({
  token: '',
  clientId: served.caller.name,
  scopes: [],
  extra: { served },
});

/** A tool call is always answered by a stream: it may take long, and proxies cut silent connections. */
const createHandlers = (
  library: McpLibrary,
  serverFor: ServerFactory,
): { calls: McpHttpHandler; others: McpHttpHandler } => {
  const make = (responseMode: 'sse' | 'auto'): McpHttpHandler =>
    library.createMcpHandler(
      ({ authInfo }) => {
        const served = authInfo?.extra?.['served'] as ClientContext;
        return serverFor(served.caller, served.flow);
      },
      { responseMode, keepAliveMs: 0, maxSubscriptions: sessionsMax },
    );
  return { calls: make('sse'), others: make('auto') };
};

const exchangeKey = (caller: Caller, tag: string, id: string | number): string =>
  JSON.stringify([caller.name, tag, id]);
