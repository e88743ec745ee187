// A tool server that speaks MCP over HTTP, in this process. A separate file because its package takes long to load.
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

export type WebHandler = ReturnType<typeof createMcpHandler>;

/** `found`: what its tool returns; `words`: its description. */
export const webHandler = (found: string, words: string): WebHandler =>
  createMcpHandler(() => webServer(found, words), { keepAliveMs: 0 });

const webServer = (found: string, words: string): McpServer => {
  const server = new McpServer({ name: 'web', version: '1' });
  server.registerTool('echo', { description: `Echoes. ${words}`, inputSchema: z.looseObject({}) }, (args) => ({
    content: [{ type: 'text', text: `${String(args['mark'])} ${found}` }],
  }));
  return server;
};
