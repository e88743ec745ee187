// What only tests use of this room.
export { routesFor } from './mcp-routes.ts';
export { serveStreams } from './serve-mcp-stdio.ts';
