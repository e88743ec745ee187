import type { ResolvedServer } from '#contracts';
import { openHttpTransport } from './http-transport.ts';
import { openSseTransport } from './sse-transport.ts';
import { openStdioTransport } from './stdio-transport.ts';
import { openWebsocketTransport } from './websocket-transport.ts';
import type { McpTransport } from './transport.ts';

export const openTransport = async (server: ResolvedServer, signal: AbortSignal): Promise<McpTransport> => {
  switch (server.type) {
    case 'stdio':
      return openStdioTransport(server);
    case 'http':
      return openHttpTransport(server);
    case 'sse':
      return openSseTransport(server);
    case 'websocket':
      return openWebsocketTransport(server, signal);
  }
};
