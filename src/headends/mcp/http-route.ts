// MCP over streamable HTTP: every POST is an exchange of its own, and nothing is kept between two of them.
//
//   H1. A server object serves one request of one caller.
//   H2. An exchange ends with its client: the signal of the request, and the end of its body, cancel what it began.
//   H3. A cancellation that comes with another POST ends an exchange only if that is the only one of the same caller, client
//       and id. The client is known by a tag that its `initialize` was answered with; without one, nothing is cancelled.
import type { AuthInfo, McpHttpHandler } from '@modelcontextprotocol/server';
import type { Json } from '#base';
import type { Caller, RawRoute } from '#contracts';
import { eventHeaders, eventStream } from './event-stream.ts';
import { notesWaitingMax, sessionsMax } from './limits.ts';
import { randomId } from './random-id.ts';
import { cancelledIn, idIn, isObject, refusal, rpcCodes, rpcForm } from './rpc.ts';
import type { Refusal } from './rpc.ts';
import type { Flow, Library, McpWorld, ServerFor } from './server-for.ts';

const tagHeader = 'mcp-session-id';

export const httpRoute = (library: Library, serverFor: ServerFor, world: McpWorld): RawRoute => {
  const handlers = handlersOf(library, serverFor);
  const exchanges = new Exchanges();
  return {
    methods: ['POST', 'GET', 'DELETE'],
    path: '/mcp',
    form: rpcForm,
    answer: async (request, caller, body) => {
      if (request.method !== 'POST') return responseOf(onlyPost, { allow: 'POST' });
      if (body === undefined || Array.isArray(body)) return responseOf(oneMessage);
      const tag = request.headers.get(tagHeader);
      const cancelled = cancelledIn(body);
      if (cancelled !== null) {
        if (tag !== null) exchanges.cancel(keyOf(caller, tag, cancelled));
        return new Response(null, { status: 202 });
      }

      // The library would not notice, and begin what nobody waits for.
      if (request.signal.aborted) return new Response(null, { status: 499 });
      const exchange = new Exchange(request.signal);
      const id = idIn(body);
      const leave = tag === null || id === null ? nothing : exchanges.enter(keyOf(caller, tag, id), exchange);
      const handler = methodOf(body) === 'tools/call' ? handlers.calls : handlers.others;
      const response = await handler.fetch(exchange.requestOf(request), {
        parsedBody: body,
        authInfo: forServer({ caller, flow: exchange }),
      });
      const headers = new Headers(response.headers);
      if (methodOf(body) === 'initialize' && response.ok) headers.set(tagHeader, randomId(world.ids));
      const { status } = response;
      if (response.body !== null && headers.get('content-type') === eventHeaders['content-type'])
        return new Response(exchange.paced(response.body, world, leave), { status, headers });
      leave();
      return new Response(response.body, { status, headers });
    },
  };
};

const nothing = (): void => undefined;

const onlyPost = refusal(
  405,
  rpcCodes.server,
  'There are no streams or sessions of their own here: POST each message.',
);
const oneMessage = refusal(400, rpcCodes.request, 'Send one JSON-RPC message at a time.');

const responseOf = ({ status, message }: Refusal, headers: Readonly<Record<string, string>> = {}): Response =>
  Response.json(message, { status, headers });

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

/** Those under way that could be cancelled by their id. */
class Exchanges {
  readonly #byKey = new Map<string, Set<Exchange>>();

  enter(key: string, exchange: Exchange): () => void {
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

class Exchange implements Flow {
  readonly #cancelling = new AbortController();
  readonly #signal: AbortSignal;
  #notesWaiting = 0;

  constructor(gone: AbortSignal) {
    this.#signal = AbortSignal.any([gone, this.#cancelling.signal]);
  }

  cancel(): void {
    this.#cancelling.abort();
  }

  take(): boolean {
    if (this.#notesWaiting >= notesWaitingMax) return false;
    this.#notesWaiting += 1;
    return true;
  }

  /** The same request, without its body, which is parsed already. */
  requestOf({ url, method, headers }: Request): Request {
    return new Request(url, { method, headers, signal: this.#signal });
  }

  /** What the library has ready is taken one message at a time, when the client wants it. */
  paced(body: ReadableStream<Uint8Array>, { clock }: McpWorld, ended: () => void): ReadableStream<Uint8Array> {
    const reader = body.getReader();
    const closed = (): void => {
      ended();
      reader.cancel().catch(() => undefined);
    };
    // The library listens late: who went away while it made ready is noticed here.
    if (this.#signal.aborted) closed();
    else this.#signal.addEventListener('abort', closed, { once: true });
    return eventStream(clock, {
      next: async () => {
        const { value, done } = await reader.read();
        this.#notesWaiting = Math.max(0, this.#notesWaiting - 1);
        return done ? null : value;
      },
      closed,
    });
  }
}
