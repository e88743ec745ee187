// An MCP server as a source of tools.
//
//   M1. Each list is a new connection with a process or stream of its own, and close leaves none of it.
//   M2. Whether a call may run again is the operator's trust in the server's hints, never the hints alone.
//   M3. What a server says of itself (instructions) and of later changes to its tools is not heard.
import type { ResolvedServer, ToolDefinition, ToolSource } from '#contracts';
import { listServerTools } from './list-tools.ts';
import type { OfferedTool } from './list-tools.ts';
import { renderResult } from './render-result.ts';
import { McpClientSession } from './session.ts';

export type McpOptions = {
  /** What servers are told of who calls. */
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
        tools: tools.map((tool) => definitionOf(tool, session, server.trusted === true)),
        close: async () => session.close(),
      };
    } catch (error) {
      await session.close();
      throw error;
    }
  },
});

const definitionOf = (tool: OfferedTool, session: McpClientSession, trusted: boolean): ToolDefinition => ({
  name: tool.name,
  description: tool.description,
  inputSchema: tool.inputSchema,
  repeat: trusted && tool.harmless ? 'free' : 'never',
  execute: async (args, { signal }) => renderResult(await session.call(tool.own, args, signal)),
});
