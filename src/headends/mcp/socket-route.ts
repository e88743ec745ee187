// MCP over a WebSocket: one message a frame.
import { strictJson } from '#base';
import type { SocketRoute } from '#contracts';
import { jsonDepthMax } from './limits.ts';
import { refusal, rpcCodes } from './rpc.ts';
import type { Serve } from './serve-connection.ts';

export const socketRoute = (serve: Serve): SocketRoute => ({
  path: '/mcp/ws',
  protocol: 'mcp',
  open: (socket, caller) => {
    const connection = serve(caller, {
      // What a slow reader has not taken is bounded by the socket.
      send: async (text) => socket.send(text),
      hasRoom: () => true,
      close: () => socket.close(),
    });
    socket.onText((text) => {
      const parsed = strictJson(text, jsonDepthMax);
      const refused =
        'problem' in parsed ? refusal(400, rpcCodes.parse, parsed.problem) : connection.accept(parsed.value);
      if (refused !== null) socket.send(JSON.stringify(refused.message));
    });
    socket.onClose(() => void connection.close());
  },
});
