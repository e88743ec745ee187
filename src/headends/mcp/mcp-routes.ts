// MCP on the server's addresses: streamable HTTP, the older HTTP with server-sent events, and WebSockets.
import type { Serving, SocketRoute, UndescribedRoute } from '#contracts';
import { agentServerFor } from './agent-server.ts';
import { httpRoute } from './http-route.ts';
import { serverOfConnections } from './serve-connection.ts';
import type { Library, McpWorld, ServerFor } from './server-for.ts';
import { socketRoute } from './socket-route.ts';
import { sseRoutes } from './sse-routes.ts';

export type McpRoutes = { readonly routes: readonly UndescribedRoute[]; readonly sockets: readonly SocketRoute[] };

export const mcpRoutes = async (serving: Serving, world: McpWorld): Promise<McpRoutes> => {
  const library = await import('@modelcontextprotocol/server');
  return routesFor(library, agentServerFor(library, serving, world.version), world);
};

/** The same for any server objects. */
export const routesFor = async (library: Library, serverFor: ServerFor, world: McpWorld): Promise<McpRoutes> => {
  const serve = await serverOfConnections(library, serverFor);
  return {
    routes: [httpRoute(library, serverFor, world), ...sseRoutes(serve, world)],
    sockets: [socketRoute(serve)],
  };
};
