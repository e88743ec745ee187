// The MCP routes: streamable HTTP, the older HTTP transport with server-sent events, and WebSockets.
import { CloisterError } from '#base';
import type { AgentService, SocketRoute, PlainRoute } from '#contracts';
import { agentServerFactory } from './agent-server.ts';
import { httpRoute } from './http-route.ts';
import { rpcError } from './rpc.ts';
import { connectionServer } from './serve-connection.ts';
import type { McpLibrary, McpWorld, ServerFactory } from './server-factory.ts';
import { socketPath, socketRoute } from './socket-route.ts';
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
