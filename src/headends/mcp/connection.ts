// Carries JSON-RPC messages between one client and its server object, over any transport.
//
//   mcp-requests-bounded. The number of a client's unanswered requests is bounded, and so is what waits for the client to read
//       it: an answer is serialised only when the one before has been taken.
//   mcp-id-belongs-to-request. An id belongs to one request until that request is answered or cancelled.
//   mcp-every-message-handled. Every incoming message is answered, refused or dropped; none makes this class throw.
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server';
import type { Json, JsonObject, StrictJson } from '#base';
import type { Caller } from '#contracts';
import { rpcIdCharsMax, subscriptionsMax, unansweredMax } from './limits.ts';
import type { Outbox } from './outbox.ts';
import { readCancelledId, readRpcId, rpcRefusal, rpcCodes } from './rpc.ts';
import type { RpcRefusal, RpcId } from './rpc.ts';
import type { Backpressure, McpLibrary, ServerFactory } from './server-factory.ts';

/** The way to the client. */
type ClientChannel = {
  /** Messages for the client. */
  readonly outbox: Outbox;
  close(): void;
};

const longRunningMethods: ReadonlySet<string> = new Set(['tools/call', 'subscriptions/listen']);

export class McpServerConnection implements Transport, Backpressure {
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  onmessage: Transport['onmessage'];
  readonly #library: McpLibrary;
  readonly #channel: ClientChannel;
  readonly #unanswered = new Map<RpcId, string>();
  #idleListeners: (() => void)[] = [];
  /** Settles when the last answer has been taken. */
  #lastSent: Promise<void> = Promise.resolve();
  #pendingRefusals = 0;
  #closed = false;

  constructor(library: McpLibrary, carrier: ClientChannel) {
    this.#library = library;
    this.#channel = carrier;
  }

  async start(): Promise<void> {}

  acceptParsed(message: StrictJson): RpcRefusal | null {
    return 'problem' in message ? rpcRefusal(400, rpcCodes.parse, message.problem) : this.accept(message.value);
  }

  /** Accepts a message of the client, or returns the refusal to send. */
  accept(message: Json): RpcRefusal | null {
    if (this.#closed) return null;
    const { isJSONRPCNotification, isJSONRPCRequest, isJSONRPCResponse } = this.#library;
    if (isJSONRPCRequest(message)) {
      const refused = this.#admit(message.id, message.method);
      if (refused === null) this.#deliver(message);
      return refused;
    }
    if (isJSONRPCNotification(message)) {
      this.#deliver(message);
      const cancelled = readCancelledId(message);
      if (cancelled !== null) this.#settle(cancelled);
      return null;
    }
    // This server sends no requests, so a response is of no use.
    if (isJSONRPCResponse(message)) return null;
    const text = Array.isArray(message) ? 'Send one message at a time.' : 'This is not a JSON-RPC 2.0 message.';
    return rpcRefusal(400, rpcCodes.request, text, readRpcId(message));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed) return;
    // A notification does not wait for the client to read; it is dropped if there is no room.
    if ('method' in message) return void this.#channel.outbox.offer(JSON.stringify(message));
    await this.#sendInOrder(message);
    if (message.id !== undefined) this.#settle(message.id);
  }

  /** Sends a refusal in order with the answers. Resolves when it has been taken. A client that leaves too many unread is disconnected. */
  async refuse({ message }: RpcRefusal): Promise<void> {
    if (this.#closed) return;
    if (this.#pendingRefusals >= unansweredMax) return this.close();
    this.#pendingRefusals += 1;
    await this.#sendInOrder(message);
    this.#pendingRefusals -= 1;
  }

  tryReserve(bytes: number): boolean {
    return !this.#closed && this.#channel.outbox.hasRoomFor(bytes);
  }

  /** Resolves when only long-running requests are unanswered. */
  async whenIdle(): Promise<void> {
    if (!this.#isIdle()) await new Promise<void>((resolve) => this.#idleListeners.push(resolve));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#unanswered.clear();
    this.#notifyIdle();
    this.#channel.close();
    this.onclose?.();
  }

  #sendInOrder(message: JSONRPCMessage | JsonObject): Promise<void> {
    const { outbox } = this.#channel;
    return (this.#lastSent = this.#lastSent.then(() =>
      this.#closed ? undefined : outbox.put(JSON.stringify(message)),
    ));
  }

  #admit(id: RpcId, method: string): RpcRefusal | null {
    if (typeof id === 'string' && id.length > rpcIdCharsMax)
      return rpcRefusal(400, rpcCodes.request, `The id is too long: at most ${rpcIdCharsMax} characters are allowed.`);
    // The client could not tell which of the two requests an answer belongs to.
    if (this.#unanswered.has(id))
      return rpcRefusal(
        400,
        rpcCodes.request,
        `The id ${JSON.stringify(id).slice(0, 80)} is in use: wait for its answer, or use a different id.`,
      );
    if (this.#unanswered.size >= unansweredMax)
      return rpcRefusal(
        429,
        rpcCodes.server,
        `${unansweredMax} requests are waiting for an answer: send fewer at a time.`,
        id,
      );
    this.#unanswered.set(id, method);
    return null;
  }

  #deliver(message: JSONRPCMessage): void {
    try {
      this.onmessage?.(message);
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error('The message could not be handled.', { cause: error }));
    }
  }

  #settle(id: RpcId): void {
    this.#unanswered.delete(id);
    if (this.#isIdle()) this.#notifyIdle();
  }

  #isIdle(): boolean {
    return [...this.#unanswered.values()].every((method) => longRunningMethods.has(method));
  }

  #notifyIdle(): void {
    const listeners = this.#idleListeners;
    this.#idleListeners = [];
    for (const listener of listeners) listener();
  }
}

// Serves one client on its own connection, with either protocol version; the client's first message decides which.
export type ServeClient = (caller: Caller, carrier: ClientChannel) => McpServerConnection;

/** Returns a function that serves the client on a channel until the channel or the connection is closed. */
export const connectionServer = async (library: McpLibrary, serverFor: ServerFactory): Promise<ServeClient> => {
  const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
  return (caller, carrier) => {
    const connection = new McpServerConnection(library, carrier);
    serveStdio(() => serverFor(caller, connection), { transport: connection, maxSubscriptions: subscriptionsMax });
    return connection;
  };
};
