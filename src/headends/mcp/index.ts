export { mcpRoutes } from './mcp-routes.ts';
export type { McpRoutes } from './mcp-routes.ts';
export { serveMcpStdio } from './serve-mcp-stdio.ts';
export type { McpStdio } from './serve-mcp-stdio.ts';
export type { McpWorld } from './server-factory.ts';
