// One client connection to one server.
import type { CallToolResult, Client, Tool } from '@modelcontextprotocol/client';
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import type { ResolvedServer } from '#contracts';
import { openHttpTransport, openSseTransport } from './http-transport.ts';
import { connectMs, noTimeoutMs } from './limits.ts';
import { callFailure, connectFailure, SessionExpiredError } from './server-failure.ts';
import { abortReason, unlessAborted } from './timeouts.ts';
import { openStdioTransport } from './stdio-transport.ts';
import type { McpTransport } from './transport.ts';
import { openWebsocketTransport } from './websocket-transport.ts';

/** How the client identifies itself to servers. */
export type ClientIdentity = { readonly name: string; readonly version: string };

export class McpClientConnection {
  readonly #client: Client;
  readonly #transport: McpTransport;
  readonly #server: ResolvedServer;
  constructor(client: Client, transport: McpTransport, server: ResolvedServer) {
    this.#client = client;
    this.#transport = transport;
    this.#server = server;
  }

  get isUsable(): boolean {
    return !this.#transport.isClosed;
  }

  /** The server uses the older protocol, which starts with `initialize`. */
  get isLegacy(): boolean {
    return this.#client.getProtocolEra() === 'legacy';
  }

  get offersTools(): boolean {
    return this.#client.getServerCapabilities()?.tools !== undefined;
  }

  /** One page of the tool list, not validated yet. */
  async listPage(cursor: string | undefined, signal: AbortSignal): Promise<unknown> {
    try {
      const request = { method: 'tools/list', params: cursor === undefined ? {} : { cursor } };
      return await unlessAborted(this.#client.request(request, passThroughSchema, { timeout: noTimeoutMs }), signal);
    } catch (error) {
      throw connectFailure(this.#transport.lossReason ?? error, this.#server);
    }
  }

  /** Ends immediately when the signal aborts: the server is notified, and its late response is ignored. */
  async call(tool: Tool, args: JsonObject, signal: AbortSignal): Promise<CallToolResult> {
    if (signal.aborted) throw abortReason(signal);
    const cancel = new AbortController();
    // The reason is not sent to the server: it may contain another cell's text.
    const stop = (): void => cancel.abort('cancelled');
    signal.addEventListener('abort', stop, { once: true });
    const hadSession = this.#transport.sessionId !== undefined;
    try {
      return await this.#client.callTool(
        { name: tool.name, arguments: args },
        { signal: cancel.signal, timeout: noTimeoutMs, toolDefinition: tool },
      );
    } catch (error) {
      if (signal.aborted) throw abortReason(signal);
      if (this.#transport.isClosed && this.#transport.lossReason === undefined) throw sessionClosedError();
      const failure = this.#transport.lossReason ?? callFailure(error, this.#server, hadSession);
      if (failure instanceof SessionExpiredError) this.#transport.connectionLost(failure);
      throw failure;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** Never rejects. */
  async close(): Promise<void> {
    await this.#transport.close();
  }
}

/** Connects, or throws and leaves nothing behind. */
export const connect = async (
  server: ResolvedServer,
  identity: ClientIdentity,
  options: { readonly legacy: boolean; readonly signal: AbortSignal },
): Promise<McpClientConnection> => {
  const { signal } = options;
  const attempt = async (legacy: boolean): Promise<McpClientConnection> => {
    const transport = await openTransport(server, signal).catch((error: unknown) => {
      throw connectFailure(error, server);
    });
    try {
      const client = await createClient(server, identity);
      const prior = legacy ? { prior: { kind: 'legacy' as const } } : {};
      await unlessAborted(client.connect(transport, { timeout: noTimeoutMs, ...prior }), signal);
      return new McpClientConnection(client, transport, server);
    } catch (error) {
      await transport.close();
      throw connectFailure(transport.lossReason ?? error, server);
    }
  };
  if (options.legacy || server.type === 'sse') return attempt(true);
  try {
    return await attempt(false);
  } catch (error) {
    // Some older servers exit, or stay silent, when their first message is not `initialize`.
    const mayBeOld = server.type !== 'http' && error instanceof CloisterError && error.code === 'server_failed';
    if (!mayBeOld || signal.aborted) throw error;
    return attempt(true);
  }
};

const createClient = async (server: ResolvedServer, identity: ClientIdentity): Promise<Client> => {
  const sdk = await import('@modelcontextprotocol/client');
  // Over HTTP silence means an outage; elsewhere an older server may simply not know the request.
  const probeMs = server.type === 'http' ? noTimeoutMs : Math.ceil(connectMs(server) / 3);
  return new sdk.Client(identity, {
    // Servers are offered no capabilities: no sampling, no elicitation, no roots.
    capabilities: {},
    inputRequired: { autoFulfill: false },
    versionNegotiation: { mode: 'auto', probe: { timeoutMs: probeMs } },
    // The default validator generates code from schemas that servers send.
    jsonSchemaValidator: {
      getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
    },
  });
};

export const sessionClosedError = (): CloisterError => new CloisterError('cancelled', 'The session is closed.');

const passThroughSchema = {
  '~standard': { version: 1, vendor: 'cloister', validate: (value: unknown) => ({ value }) },
} as const;

const openTransport = async (server: ResolvedServer, signal: AbortSignal): Promise<McpTransport> => {
  switch (server.type) {
    case 'stdio':
      return openStdioTransport(server);
    case 'http':
      return openHttpTransport(server);
    case 'sse':
      return openSseTransport(server);
    case 'websocket':
      return openWebsocketTransport(server, signal);
  }
};
