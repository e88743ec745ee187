// The MCP routes: streamable HTTP, the older HTTP transport with server-sent events, and WebSockets.
import { CloisterError } from '#base';
import type { AgentService, SocketRoute, PlainRoute, ServedSocket } from '#contracts';
import { agentServerFactory } from './agent-server.ts';
import { httpRoute } from './http-route.ts';
import { Outbox } from './outbox.ts';
import { rpcError } from './rpc.ts';
import { connectionServer } from './connection.ts';
import type { ServeClient } from './connection.ts';
import type { McpLibrary, McpWorld, ServerFactory } from './server-factory.ts';
import { sseRoutes } from './sse-routes.ts';

/** Answers a plain request to the WebSocket path. */
const plainSocketRequest = (world: McpWorld): PlainRoute => ({
  method: 'GET',
  path: socketPath,
  formatError: rpcError,
  answer: async () => {
    throw world.isStopping()
      ? new CloisterError('server_stopping')
      : new CloisterError('request_invalid', 'This URL is for WebSockets, with the subprotocol "mcp".');
  },
});

type McpRoutes = { readonly routes: readonly PlainRoute[]; readonly sockets: readonly SocketRoute[] };

export const mcpRoutes = async (service: AgentService, world: McpWorld): Promise<McpRoutes> => {
  const library = await import('@modelcontextprotocol/server');
  return routesFor(library, agentServerFactory(library, service, world.version), world);
};

/** The same for any server factory. */
export const routesFor = async (library: McpLibrary, serverFor: ServerFactory, world: McpWorld): Promise<McpRoutes> => {
  const serve = await connectionServer(library, serverFor);
  return {
    routes: [httpRoute(library, serverFor, world), ...sseRoutes(serve, world), plainSocketRequest(world)],
    sockets: [socketRoute(serve)],
  };
};

// MCP over a WebSocket: one JSON-RPC message per WebSocket message.
const socketPath = '/mcp/ws';

const socketRoute = (serve: ServeClient): SocketRoute => ({
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
