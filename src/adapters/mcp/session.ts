// One session's use of one server: a connection, replaced when it is lost.
//
//   mcp-session-shares-nothing. It shares nothing with other sessions.
//   mcp-reconnects-once. When a server dies, only the calls in flight fail; the next call reconnects, once.
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import type { ResolvedServer } from '#contracts';
import { sessionClosedError, connect } from './connection.ts';
import type { McpClientConnection, ClientIdentity } from './connection.ts';
import { SessionExpiredError } from './server-failure.ts';
import { connectMs, formatCount } from './limits.ts';
import { serverTitle } from './server.ts';
import { abortReason, unlessAborted } from './timeouts.ts';

export class McpClientSession {
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
