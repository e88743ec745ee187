// What one session has of one server: a connection, and a new one when that is lost.
//
//   S1. It shares nothing with another session's.
//   S2. A server that died hurts the calls that were waiting for it; the next call connects again, once.
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import type { ResolvedServer } from '#contracts';
import { closed, connect } from './connection.ts';
import type { McpClientConnection, Identity } from './connection.ts';
import { SessionExpiredError } from './server-failure.ts';
import { connectMs, shownCount } from './limits.ts';
import { serverTitle } from './server.ts';
import { abortReason, unlessAborted } from './timeouts.ts';

export class McpClientSession {
  readonly #server: ResolvedServer;
  readonly #identity: Identity;
  readonly #closing = new AbortController();
  #current: Promise<McpClientConnection> | undefined;
  #legacy = false;

  constructor(server: ResolvedServer, identity: Identity) {
    this.#server = server;
    this.#identity = identity;
  }

  /** Does the first work on a connection: all of it within the time that connecting may take. */
  async begin<T>(
    work: (connection: McpClientConnection, signal: AbortSignal) => Promise<T>,
    caller: AbortSignal,
  ): Promise<T> {
    const signal = AbortSignal.any([caller, this.#limit()]);
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
    this.#closing.abort(closed());
    const connection = await this.#current?.catch(() => undefined);
    await connection?.close();
  }

  async #connection(signal: AbortSignal): Promise<McpClientConnection> {
    for (const each of [signal, this.#closing.signal]) if (each.aborted) throw abortReason(each);
    return unlessAborted(this.#usable(), signal);
  }

  async #usable(): Promise<McpClientConnection> {
    const before = this.#current;
    const connection = await before?.catch(() => undefined);
    if (connection?.usable === true) return connection;
    // Of several that find it lost, the first connects again for all.
    if (this.#current === before) this.#current = this.#open();
    return this.#current!;
  }

  async #open(): Promise<McpClientConnection> {
    const options = { legacy: this.#legacy, signal: this.#limit() };
    const connection = await connect(this.#server, this.#identity, options);
    this.#legacy = connection.legacy;
    return connection;
  }

  #limit(): AbortSignal {
    const [ms, title] = [connectMs(this.#server), serverTitle(this.#server)];
    const late = new AbortController();
    const limit = AbortSignal.any([this.#closing.signal, late.signal]);
    const timer = setTimeout(() => {
      late.abort(new CloisterError('server_failed', `${title} did not answer within ${shownCount(ms)} ms.`));
    }, ms);
    timer.unref();
    limit.addEventListener('abort', () => clearTimeout(timer), { once: true });
    return limit;
  }
}
