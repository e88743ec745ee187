export { findCommand } from './find-command.ts';
export { mcpSource } from './mcp-source.ts';
