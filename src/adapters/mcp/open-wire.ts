import type { ResolvedServer } from '#contracts';
import { openHttpWire } from './http-wire.ts';
import { openSseWire } from './sse-wire.ts';
import { openStdioWire } from './stdio-wire.ts';
import { openWebsocketWire } from './websocket-wire.ts';
import type { Wire } from './wire.ts';

export const openWire = async (server: ResolvedServer, signal: AbortSignal): Promise<Wire> => {
  switch (server.type) {
    case 'stdio':
      return openStdioWire(server);
    case 'http':
      return openHttpWire(server);
    case 'sse':
      return openSseWire(server);
    case 'websocket':
      return openWebsocketWire(server, signal);
  }
};
