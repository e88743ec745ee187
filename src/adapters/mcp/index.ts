export { findCommand } from './find-command.ts';
export { mcpSource } from './mcp-source.ts';
export type { McpOptions } from './mcp-source.ts';
