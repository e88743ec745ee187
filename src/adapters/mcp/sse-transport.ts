// A server behind HTTP with server-sent events, as the first protocol had it: one stream brings all answers.
import { CloisterError } from '#base';
import { boundedFetch } from './bounded-fetch.ts';
import { closeMs } from './limits.ts';
import { serverHeaders, serverTitle, serverUrl } from './server.ts';
import type { RemoteServer } from './server.ts';
import { McpTransport } from './transport.ts';
import { settledWithin } from './timeouts.ts';

export const openSseTransport = async (server: RemoteServer): Promise<McpTransport> => {
  const { SSEClientTransport } = await import('@modelcontextprotocol/client');
  return new McpTransport((wire) => {
    let trouble: CloisterError | undefined;
    const inner = new SSEClientTransport(serverUrl(server), {
      requestInit: { headers: serverHeaders(server) },
      fetch: boundedFetch(server, {
        oversized: (ends) => wire.oversized(ends),
        streamEnd: () =>
          wire.lose(new CloisterError('server_failed', `${serverTitle(server)} ended the stream of its answers.`)),
        failed: (error) => (trouble = error),
      }),
    });
    Object.assign(inner, { onmessage: (message: unknown) => wire.deliver(message) });
    return {
      start: async () => {
        try {
          await inner.start();
        } catch (error) {
          // The event source makes an event of what failed, and its words are lost.
          throw trouble ?? error;
        }
      },
      send: async (message) => inner.send(message),
      setProtocolVersion: (version) => inner.setProtocolVersion(version),
      close: async () => settledWithin(closeMs, inner.close()),
    };
  });
};
