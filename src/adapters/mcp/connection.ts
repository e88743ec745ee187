// One connected client of one server.
import type { CallToolResult, Client, Tool } from '@modelcontextprotocol/client';
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import type { ResolvedServer } from '#contracts';
import { callFailure, connectFailure, SessionExpiredError } from './server-failure.ts';
import { connectMs, noTimeoutMs } from './limits.ts';
import { openTransport } from './open-transport.ts';
import type { McpTransport } from './transport.ts';
import { abortReason, unlessAborted } from './timeouts.ts';

/** What we tell servers of ourselves. */
export type Identity = { readonly name: string; readonly version: string };

export class McpClientConnection {
  readonly #client: Client;
  readonly #wire: McpTransport;
  readonly #server: ResolvedServer;
  constructor(client: Client, wire: McpTransport, server: ResolvedServer) {
    this.#client = client;
    this.#wire = wire;
    this.#server = server;
  }

  get usable(): boolean {
    return !this.#wire.over;
  }

  /** It speaks the protocol that begins with `initialize`. */
  get legacy(): boolean {
    return this.#client.getProtocolEra() === 'legacy';
  }

  get offersTools(): boolean {
    return this.#client.getServerCapabilities()?.tools !== undefined;
  }

  /** One page of the list, not looked at yet. */
  async listPage(cursor: string | undefined, signal: AbortSignal): Promise<unknown> {
    try {
      const request = { method: 'tools/list', params: cursor === undefined ? {} : { cursor } };
      return await unlessAborted(this.#client.request(request, asItIs, { timeout: noTimeoutMs }), signal);
    } catch (error) {
      throw connectFailure(this.#wire.lost ?? error, this.#server);
    }
  }

  /** Ends at once when the signal does: the server is told, and what it still answers is not heard. */
  async call(tool: Tool, args: JsonObject, signal: AbortSignal): Promise<CallToolResult> {
    if (signal.aborted) throw abortReason(signal);
    const cancel = new AbortController();
    // The server is told no reason: that may be another cell's words.
    const stop = (): void => cancel.abort('cancelled');
    signal.addEventListener('abort', stop, { once: true });
    const hadSession = this.#wire.sessionId !== undefined;
    try {
      return await this.#client.callTool(
        { name: tool.name, arguments: args },
        { signal: cancel.signal, timeout: noTimeoutMs, toolDefinition: tool },
      );
    } catch (error) {
      if (signal.aborted) throw abortReason(signal);
      if (this.#wire.over && this.#wire.lost === undefined) throw closed();
      const failure = this.#wire.lost ?? callFailure(error, this.#server, hadSession);
      if (failure instanceof SessionExpiredError) this.#wire.lose(failure);
      throw failure;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** Never rejects. */
  async close(): Promise<void> {
    await this.#wire.close();
  }
}

/** Connects, or throws why not and leaves nothing behind. */
export const connect = async (
  server: ResolvedServer,
  identity: Identity,
  options: { readonly legacy: boolean; readonly signal: AbortSignal },
): Promise<McpClientConnection> => {
  const { signal } = options;
  const attempt = async (legacy: boolean): Promise<McpClientConnection> => {
    const wire = await openTransport(server, signal).catch((error: unknown) => {
      throw connectFailure(error, server);
    });
    try {
      const client = await clientOf(server, identity);
      const prior = legacy ? { prior: { kind: 'legacy' as const } } : {};
      await unlessAborted(client.connect(wire, { timeout: noTimeoutMs, ...prior }), signal);
      return new McpClientConnection(client, wire, server);
    } catch (error) {
      await wire.close();
      throw connectFailure(wire.lost ?? error, server);
    }
  };
  if (options.legacy || server.type === 'sse') return attempt(true);
  try {
    return await attempt(false);
  } catch (error) {
    // Some older servers end, or say nothing, when their first message is not `initialize`.
    const mayBeOld = server.type !== 'http' && error instanceof CloisterError && error.code === 'server_failed';
    if (!mayBeOld || signal.aborted) throw error;
    return attempt(true);
  }
};

const clientOf = async (server: ResolvedServer, identity: Identity): Promise<Client> => {
  const sdk = await import('@modelcontextprotocol/client');
  // Over HTTP silence is an outage; elsewhere an older server may just not know the question.
  const probeMs = server.type === 'http' ? noTimeoutMs : Math.ceil(connectMs(server) / 3);
  return new sdk.Client(identity, {
    // Nothing is offered to servers: no model, no questions to people, no folders.
    capabilities: {},
    inputRequired: { autoFulfill: false },
    versionNegotiation: { mode: 'auto', probe: { timeoutMs: probeMs } },
    // The default makes code of schemas that servers send.
    jsonSchemaValidator: {
      getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
    },
  });
};

export const closed = (): CloisterError => new CloisterError('cancelled', 'The session is closed.');

const asItIs = { '~standard': { version: 1, vendor: 'cloister', validate: (value: unknown) => ({ value }) } } as const;
