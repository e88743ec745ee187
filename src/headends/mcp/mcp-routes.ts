// MCP on the server's addresses: streamable HTTP, the older HTTP with server-sent events, and WebSockets.
import { CloisterError } from '#base';
import type { AgentService, SocketRoute, PlainRoute } from '#contracts';
import { agentServerFor } from './agent-server.ts';
import { httpRoute } from './http-route.ts';
import { rpcForm } from './rpc.ts';
import { serverOfConnections } from './serve-connection.ts';
import type { Library, McpWorld, ServerFor } from './server-for.ts';
import { socketPath, socketRoute } from './socket-route.ts';
import { sseRoutes } from './sse-routes.ts';

/** The address of WebSockets, asked for as a page. */
const notUpgraded = (world: McpWorld): PlainRoute => ({
  method: 'GET',
  path: socketPath,
  form: rpcForm,
  answer: async () => {
    throw world.isStopping()
      ? new CloisterError('server_stopping')
      : new CloisterError('request_invalid', 'It is an address for WebSockets, with the subprotocol "mcp".');
  },
});

export type McpRoutes = { readonly routes: readonly PlainRoute[]; readonly sockets: readonly SocketRoute[] };

export const mcpRoutes = async (serving: AgentService, world: McpWorld): Promise<McpRoutes> => {
  const library = await import('@modelcontextprotocol/server');
  return routesFor(library, agentServerFor(library, serving, world.version), world);
};

/** The same for any server objects. */
export const routesFor = async (library: Library, serverFor: ServerFor, world: McpWorld): Promise<McpRoutes> => {
  const serve = await serverOfConnections(library, serverFor);
  return {
    routes: [httpRoute(library, serverFor, world), ...sseRoutes(serve, world), notUpgraded(world)],
    sockets: [socketRoute(serve)],
  };
};
