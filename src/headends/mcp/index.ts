export { mcpRoutes } from './mcp-routes.ts';
export { serveMcpStdio } from './serve-mcp-stdio.ts';
