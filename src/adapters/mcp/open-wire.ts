import type { ResolvedServer } from '#contracts';
import { openHttpTransport } from './http-wire.ts';
import { openSseTransport } from './sse-wire.ts';
import { openStdioTransport } from './stdio-wire.ts';
import { openWebsocketTransport } from './websocket-wire.ts';
import type { McpTransport } from './wire.ts';

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
