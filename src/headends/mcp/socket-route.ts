// MCP over a WebSocket: one message a frame.
import type { ServedSocket, SocketRoute } from '#contracts';
import { Outbox } from './outbox.ts';
import type { Serve } from './serve-connection.ts';

export const socketPath = '/mcp/ws';

export const socketRoute = (serve: Serve): SocketRoute => ({
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

/** The next one when the last has been taken. */
const sendAll = async (outbox: Outbox, socket: ServedSocket): Promise<void> => {
  for (let text = await outbox.take(); text !== null; text = await outbox.take()) await socket.send(text);
};
