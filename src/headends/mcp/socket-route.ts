// MCP over a WebSocket: one JSON-RPC message per WebSocket message.
import type { ServedSocket, SocketRoute } from '#contracts';
import { Outbox } from './outbox.ts';
import type { ServeClient } from './serve-connection.ts';

export const socketPath = '/mcp/ws';

export const socketRoute = (serve: ServeClient): SocketRoute => ({
  path: socketPath,
  protocol: 'mcp',
  open: (socket, caller) => {
    const outbox = new Outbox();
    const connection = serve(caller, {
      outbox,
      close: () => {
        outbox.end();
        socket.close();
      },
    });
    socket.onMessage((message) => {
      const refused = connection.acceptParsed(message);
      if (refused !== null) void connection.refuse(refused);
    });
    socket.onClose(() => void connection.close());
    void sendAll(outbox, socket);
  },
});

/** Sends each text after the last one has been taken. */
const sendAll = async (outbox: Outbox, socket: ServedSocket): Promise<void> => {
  for (let text = await outbox.take(); text !== null; text = await outbox.take()) await socket.send(text);
};
