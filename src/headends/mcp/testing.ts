// What only tests use of this room.
export { routesFor } from './mcp-routes.ts';
export { serveStreams } from './serve-mcp-stdio.ts';
export { sendProgress } from './agent-server.ts';
export type { ProgressNote } from './agent-server.ts';
