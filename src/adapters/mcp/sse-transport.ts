// Transport for HTTP with server-sent events, as in the first protocol version: one stream carries all responses.
import { CloisterError } from '#base';
import { boundedFetch } from './bounded-fetch.ts';
import { closeMs } from './limits.ts';
import { serverHeaders, serverTitle, serverUrl } from './server.ts';
import type { RemoteServer } from './server.ts';
import { McpTransport } from './transport.ts';
import { settledWithin } from './timeouts.ts';

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
