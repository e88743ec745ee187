// MCP over streamable HTTP: each POST is a separate exchange, and no state is kept between them.
//
//   mcp-server-per-request. A server object serves one request of one caller.
//   mcp-exchange-ends-with-client. The signal of the request, or the end of the response body, cancels what the exchange
//       started.
//   mcp-cancel-unambiguous. A cancellation in another POST ends an exchange only if it is the only one with that caller,
//       client and id. The client is identified by the tag in the response to its `initialize`; without a tag, nothing is
//       cancelled.
import type { AuthInfo, McpHttpHandler } from '@modelcontextprotocol/server';
import { CloisterError, isObject, bufferedBytesMax } from '#base';
import type { Json } from '#base';
import type { Caller, RouteReply, PlainRoute, AdmittedRequest, ServerEvent } from '#contracts';
import { sessionsMax, progressWaitingMax } from './limits.ts';
import { randomId } from './server-factory.ts';
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

// One HTTP request and its response.
class HttpExchange implements Backpressure {
  readonly #clientSignal: AbortSignal;
  /** A controller of its own, because a signal from `AbortSignal.any` is kept in memory as long as it has listeners. */
  readonly #controller = new AbortController();
  readonly #end = (): void => this.#controller.abort();
  /** The sizes of the notifications that the library holds for the client. */
  #notificationSizes: number[] = [];

  constructor(gone: AbortSignal) {
    this.#clientSignal = gone;
    gone.addEventListener('abort', this.#end, { once: true });
  }

  cancel(): void {
    this.#end();
  }

  close(): void {
    this.#clientSignal.removeEventListener('abort', this.#end);
  }

  tryReserve(bytes: number): boolean {
    const waiting = this.#notificationSizes.reduce((sum, one) => sum + one, 0);
    if (this.#notificationSizes.length >= progressWaitingMax || waiting + bytes > bufferedBytesMax) return false;
    this.#notificationSizes.push(bytes);
    return true;
  }

  /** Only what the library reads of a request; the body is already parsed. */
  libraryRequest({ headers }: AdmittedRequest): Request {
    const { signal } = this.#controller;
    const request: Pick<Request, 'url' | 'method' | 'headers' | 'signal'> = { url, method: 'POST', headers, signal };
    return request as Request;
  }

  /**
   * The library's messages, one at a time, as the client reads them. The library returns messages only as the body of a Response, so they
   * are extracted from it again: each chunk is one complete event, `event: message` and a line of data.
   */
  readEvents(body: ReadableStream<Uint8Array>, ended: () => void): AsyncIterable<ServerEvent> {
    const reader = body.getReader();
    const { signal } = this.#controller;
    const leave = (): void => {
      ended();
      reader.cancel().catch(() => undefined);
    };
    // The library starts to listen late, so a client that left while the response was prepared is noticed here.
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
    const next = async (): Promise<IteratorResult<ServerEvent>> => {
      const { value, done } = await reader.read();
      this.#notificationSizes.shift();
      if (!done) return { done, value: { event: 'message', data: eventData(value) } };
      ended();
      return { done, value: undefined };
    };
    const left = async (): Promise<IteratorResult<ServerEvent>> => {
      leave();
      return { done: true, value: undefined };
    };
    return { [Symbol.asyncIterator]: () => ({ next, return: left }) };
  }
}

/** The library requires an absolute URL. */
const url = 'http://localhost/mcp';

const decoder = new TextDecoder();

const eventData = (part: Uint8Array): string => {
  const text = decoder.decode(part);
  return text.slice(text.indexOf(dataField) + dataField.length).trimEnd();
};

const dataField = '\ndata: ';

/** The exchanges in flight that can be cancelled by id. */
class OpenExchanges {
  readonly #byKey = new Map<string, Set<HttpExchange>>();

  add(key: string, exchange: HttpExchange): () => void {
    const same = this.#byKey.get(key) ?? new Set();
    this.#byKey.set(key, same.add(exchange));
    return () => {
      same.delete(exchange);
      if (same.size === 0 && this.#byKey.get(key) === same) this.#byKey.delete(key);
    };
  }

  cancel(key: string): void {
    const [one, ...others] = this.#byKey.get(key) ?? [];
    if (others.length === 0) one?.cancel();
  }
}
