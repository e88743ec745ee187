// Transport for streamable HTTP: each request is its own POST.
import { boundedFetch } from './bounded-fetch.ts';
import { closeMs } from './limits.ts';
import { serverHeaders, serverUrl } from './server.ts';
import type { RemoteServer } from './server.ts';
import { McpTransport } from './transport.ts';
import { settledWithin } from './timeouts.ts';

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
