// Transport for streamable HTTP: each request is its own POST.
import type { FetchLike } from '@modelcontextprotocol/client';
import { CloisterError } from '#base';
import { closeMs, messageBytesMax } from './limits.ts';
import { unreachableError } from './server-failure.ts';
import { serverHeaders, serverUrl, serverTitle } from './server.ts';
import { settledWithin } from './timeouts.ts';
import type { RemoteServer } from './server.ts';
import { splitLines } from './split-lines.ts';
import type { TruncatedLine } from './split-lines.ts';
import { McpTransport, oversizedMessageError } from './transport.ts';

// The `fetch` that talks to remote servers.
//
//   mcp-body-bounded. No body is read past the size limit, and no stream event is buffered past it.
//   mcp-failure-shows-origin-only. Failures use our own texts, with the origin of the URL and no more of it.
type FetchEvents = {
  /** A line of an event stream was too large and was dropped. */
  oversized(line: TruncatedLine): void;
  /** An event stream has ended. */
  streamEnd?(): void;
  /** The server could not be reached; the same error is thrown. */
  failed?(error: CloisterError): void;
};

const boundedFetch =
  (server: RemoteServer, events: FetchEvents): FetchLike =>
  async (url, init) => {
    const response = await fetchManually(server, url, init).catch((error: unknown) => {
      if (error instanceof CloisterError) events.failed?.(error);
      throw error;
    });
    const { body, status, statusText, headers } = response;
    if (body === null) return response;
    const streams = headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') ?? false;
    const bounded = ReadableStream.from(streams ? boundEvents(body, events) : boundBody(body));
    return new Response(bounded, { status, statusText, headers });
  };

/** Redirects are left to the client, which follows them only within the origin, so that headers go nowhere else. */
const fetchManually = async (
  server: RemoteServer,
  url: string | URL,
  init: RequestInit | undefined,
): Promise<Response> => {
  try {
    return await fetch(url, { ...init, redirect: 'manual' });
  } catch (error) {
    throw init?.signal?.aborted === true ? error : unreachableError(error, server);
  }
};

type Chunks = AsyncIterable<Uint8Array>;

const boundBody = async function* (body: Chunks): AsyncGenerator<Uint8Array, void, undefined> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > messageBytesMax) throw oversizedMessageError();
    yield chunk;
  }
};

const lineFeed = Buffer.from('\n');

/** Passes on complete lines. An event may have many lines, so their total size is bounded too. */
const boundEvents = async function* (body: Chunks, events: FetchEvents): AsyncGenerator<Uint8Array, void, undefined> {
  let lines: Buffer[] = [];
  let eventBytes = 0;
  const feed = splitLines(messageBytesMax, {
    line: (line) => {
      lines.push(line, lineFeed);
      eventBytes = line.length === 0 || line.equals(carriageReturn) ? 0 : eventBytes + line.length;
    },
    tooLong: ({ head, ...rest }) => events.oversized({ head: head.replace(/^data: ?/u, ''), ...rest }),
  });
  try {
    for await (const chunk of body) {
      feed(chunk);
      if (eventBytes > 2 * messageBytesMax) throw oversizedMessageError();
      const ready = Buffer.concat(lines);
      lines = [];
      if (ready.length > 0) yield ready;
    }
  } finally {
    events.streamEnd?.();
  }
};

const carriageReturn = Buffer.from('\r');

export const openHttpTransport = async (server: RemoteServer): Promise<McpTransport> => {
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  return new McpTransport((transport) => {
    const bounded = boundedFetch(server, { oversized: (ends) => transport.oversized(ends) });
    const inner = new StreamableHTTPClientTransport(serverUrl(server), {
      requestInit: { headers: serverHeaders(server) },
      fetch: async (url, init) => (isIdleStream(init) ? new Response(null, { status: 405 }) : bounded(url, init)),
      // A response whose stream broke is requested again, if the server supports that.
      reconnectionOptions: {
        initialReconnectionDelay: 200,
        maxReconnectionDelay: 1_000,
        reconnectionDelayGrowFactor: 2,
        maxRetries: 2,
      },
    });
    Object.assign(inner, { onmessage: (message: unknown) => transport.deliver(message) });
    return {
      start: async () => inner.start(),
      send: async (message, options) => inner.send(message, options),
      hasPerRequestStream: true,
      sessionId: () => inner.sessionId,
      setProtocolVersion: (version) => inner.setProtocolVersion(version),
      close: async () => {
        // Ending the session on the server is a courtesy; the server may be gone.
        if (inner.sessionId !== undefined) await settledWithin(closeMs, inner.terminateSession());
        await settledWithin(closeMs, inner.close());
      },
    };
  });
};

/** The stream for unsolicited server messages, which we do not use. */
const isIdleStream = (init: RequestInit | undefined): boolean =>
  init?.method === 'GET' && !new Headers(init.headers).has('last-event-id');

// Transport for HTTP with server-sent events, as in the first protocol version: one stream carries all responses.
export const openSseTransport = async (server: RemoteServer): Promise<McpTransport> => {
  const { SSEClientTransport } = await import('@modelcontextprotocol/client');
  return new McpTransport((transport) => {
    let trouble: CloisterError | undefined;
    const inner = new SSEClientTransport(serverUrl(server), {
      requestInit: { headers: serverHeaders(server) },
      fetch: boundedFetch(server, {
        oversized: (ends) => transport.oversized(ends),
        streamEnd: () =>
          transport.connectionLost(
            new CloisterError('server_failed', `${serverTitle(server)} closed the response stream.`),
          ),
        failed: (error) => (trouble = error),
      }),
    });
    Object.assign(inner, { onmessage: (message: unknown) => transport.deliver(message) });
    return {
      start: async () => {
        try {
          await inner.start();
        } catch (error) {
          // The event source turns the failure into an event and loses its message.
          throw trouble ?? error;
        }
      },
      send: async (message) => inner.send(message),
      setProtocolVersion: (version) => inner.setProtocolVersion(version),
      close: async () => settledWithin(closeMs, inner.close()),
    };
  });
};
