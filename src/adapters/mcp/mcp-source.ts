// An MCP server as a source of tools.
//
//   mcp-list-opens-connection. Each `list` opens a new connection with its own process or stream, and `close` leaves nothing
//       of it.
//   mcp-hints-need-trust. A call may be repeated only if the operator trusts the server's hints, never because of the hints
//       alone.
//   mcp-instructions-ignored. Instructions of a server, and notifications of later changes to its tools, are ignored.
import type { ResolvedServer, ToolDefinition, ToolSource } from '#contracts';
import { listServerTools } from './list-tools.ts';
import type { OfferedTool } from './list-tools.ts';
import { renderResult } from './render-result.ts';
import { McpClientSession } from './session.ts';

type McpOptions = {
  /** The client name sent to servers. */
  readonly clientName?: string;
  readonly version?: string;
};

export const mcpSource = (server: ResolvedServer, options: McpOptions = {}): ToolSource => ({
  name: server.name,
  list: async ({ signal }) => {
    const session = new McpClientSession(server, {
      name: options.clientName ?? 'cloister',
      version: options.version ?? '0',
    });
    try {
      const tools = await session.begin(
        async (connection, limit) => listServerTools(server, connection, limit),
        signal,
      );
      return {
        tools: tools.map((tool) => toDefinition(tool, session, server.trusted === true)),
        close: async () => session.close(),
      };
    } catch (error) {
      await session.close();
      throw error;
    }
  },
});

const toDefinition = (tool: OfferedTool, session: McpClientSession, trusted: boolean): ToolDefinition => ({
  name: tool.name,
  description: tool.description,
  inputSchema: tool.inputSchema,
  repeat: trusted && tool.isRepeatable ? 'free' : 'never',
  execute: async (args, { signal }) => renderResult(await session.call(tool.serverTool, args, signal)),
});
