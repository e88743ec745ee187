// An MCP server as a source of tools.
//
//   mcp-list-opens-connection. Each `list` opens a new connection with its own process or stream, and `close` leaves nothing
//       of it.
//   mcp-hints-need-trust. A call may be repeated only if the operator trusts the server's hints, never because of the hints
//       alone.
//   mcp-hints-only-mark. A server's hints can add a mark for approval, where the config asks for that, and never remove one.
//   mcp-instructions-ignored. Instructions of a server, and notifications of later changes to its tools, are ignored.
import type { CallToolResult, Tool, ContentBlock } from '@modelcontextprotocol/client';
import { CloisterError } from '#base';
import type { JsonObject, Json } from '#base';
import type { ResolvedServer, ToolDefinition, NamedSource, ToolOutput } from '#contracts';
import { sessionClosedError, connect } from './connection.ts';
import type { McpClientConnection, ClientIdentity } from './connection.ts';
import { connectMs, formatCount } from './limits.ts';
import { listServerTools } from './list-tools.ts';
import type { OfferedTool } from './list-tools.ts';
import { SessionExpiredError } from './server-failure.ts';
import { serverTitle } from './server.ts';
import { abortReason, unlessAborted } from './timeouts.ts';

type McpOptions = {
  /** The client name sent to servers. */
  readonly clientName?: string;
  readonly version?: string;
};

export const mcpSource = (server: ResolvedServer, options: McpOptions = {}): NamedSource => ({
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
        tools: tools.map((tool) => toDefinition(tool, session, server)),
        close: async () => session.close(),
      };
    } catch (error) {
      await session.close();
      throw error;
    }
  },
});

const toDefinition = (tool: OfferedTool, session: McpClientSession, server: ResolvedServer): ToolDefinition => ({
  name: tool.name,
  description: tool.description,
  inputSchema: tool.inputSchema,
  repeat: server.trusted === true && tool.isRepeatable ? 'free' : 'never',
  ...(server.approve === 'destructive' && tool.isDestructive ? { approve: true as const } : {}),
  execute: async (args, { signal }) => renderResult(await session.call(tool.serverTool, args, signal)),
});

// One session's use of one server: a connection, replaced when it is lost.
//
//   mcp-session-shares-nothing. It shares nothing with other sessions.
//   mcp-reconnects-once. When a server dies, only the calls in flight fail; the next call reconnects, once.
class McpClientSession {
  readonly #server: ResolvedServer;
  readonly #identity: ClientIdentity;
  readonly #closing = new AbortController();
  #current: Promise<McpClientConnection> | undefined;
  #legacy = false;

  constructor(server: ResolvedServer, identity: ClientIdentity) {
    this.#server = server;
    this.#identity = identity;
  }

  /** Connects and does the first work, all within the connect timeout. */
  async begin<T>(
    work: (connection: McpClientConnection, signal: AbortSignal) => Promise<T>,
    caller: AbortSignal,
  ): Promise<T> {
    const signal = AbortSignal.any([caller, this.#connectDeadline()]);
    return work(await this.#connection(signal), signal);
  }

  async call(tool: Tool, args: JsonObject, signal: AbortSignal): Promise<CallToolResult> {
    const connection = await this.#connection(signal);
    try {
      return await connection.call(tool, args, signal);
    } catch (error) {
      if (!(error instanceof SessionExpiredError)) throw error;
      return (await this.#connection(signal)).call(tool, args, signal);
    }
  }

  /** Never rejects, and may be called again. */
  async close(): Promise<void> {
    this.#closing.abort(sessionClosedError());
    const connection = await this.#current?.catch(() => undefined);
    await connection?.close();
  }

  async #connection(signal: AbortSignal): Promise<McpClientConnection> {
    for (const each of [signal, this.#closing.signal]) if (each.aborted) throw abortReason(each);
    return unlessAborted(this.#usableConnection(), signal);
  }

  async #usableConnection(): Promise<McpClientConnection> {
    const before = this.#current;
    const connection = await before?.catch(() => undefined);
    if (connection?.isUsable === true) return connection;
    // Of several callers that find the connection lost, the first reconnects for all.
    if (this.#current === before) this.#current = this.#open();
    return this.#current!;
  }

  async #open(): Promise<McpClientConnection> {
    const options = { legacy: this.#legacy, signal: this.#connectDeadline() };
    const connection = await connect(this.#server, this.#identity, options);
    this.#legacy = connection.isLegacy;
    return connection;
  }

  #connectDeadline(): AbortSignal {
    const [ms, title] = [connectMs(this.#server), serverTitle(this.#server)];
    const late = new AbortController();
    const limit = AbortSignal.any([this.#closing.signal, late.signal]);
    const timer = setTimeout(() => {
      late.abort(new CloisterError('server_failed', `${title} did not respond within ${formatCount(ms)} ms.`));
    }, ms);
    timer.unref();
    limit.addEventListener('abort', () => clearTimeout(timer), { once: true });
    return limit;
  }
}

// Renders a tool result as text for a model.
/** Throws `tool_failed` when the server reports an error of the tool. */
const renderResult = (result: CallToolResult): ToolOutput => {
  const content = result.content ?? [];
  const { structuredContent } = result;
  const text = content.map(partText).join('\n');
  if (result.isError === true)
    throw new CloisterError('tool_failed', text === '' ? jsonText(structuredContent) || undefined : text);
  if (structuredContent === undefined || content.some(hasText)) return withType(text, content);
  if (content.length === 0) return { type: 'json', value: structuredContent as Json };
  return `${jsonText(structuredContent)}\n${text}`;
};

/** A single resource says what its text is. */
const withType = (text: string, [only, ...others]: readonly ContentBlock[]): ToolOutput =>
  only?.type === 'resource' && 'text' in only.resource && others.length === 0 && only.resource.mimeType !== undefined
    ? { type: 'text', value: text, mediaType: only.resource.mimeType }
    : text;

const hasText = (part: ContentBlock): boolean =>
  part.type === 'text' || (part.type === 'resource' && 'text' in part.resource);

const partText = (part: ContentBlock): string => {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'image':
    case 'audio':
      return `[${part.type} ${part.mimeType}, ${sizeText(part.data)}: not shown]`;
    case 'resource':
      return 'text' in part.resource
        ? part.resource.text
        : `[resource ${part.resource.mimeType ?? part.resource.uri}, ${sizeText(part.resource.blob)}: not shown]`;
    case 'resource_link':
      return `[resource ${part.name}, ${part.uri}: not shown]`;
  }
};

const sizeText = (base64: string): string => `${formatCount(Buffer.byteLength(base64, 'base64'))} bytes`;

const jsonText = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value));
