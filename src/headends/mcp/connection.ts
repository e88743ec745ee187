// Carries JSON-RPC messages between one client and its server object, whatever the bytes travel on.
//
//   C1. What a client may have unanswered is bounded, and what waits for it to be read is, too: answers become texts one after the
//       other, when the one before has been taken.
//   C2. An id is one request's until that is answered or cancelled.
//   C3. Whatever comes in is answered, refused or dropped; nothing that a client sends throws.
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server';
import type { Json, JsonObject, StrictJson } from '#base';
import { rpcIdCharsMax, unansweredMax } from './limits.ts';
import type { Outbox } from './outbox.ts';
import { cancelledIn, idIn, rpcRefusal, rpcCodes } from './rpc.ts';
import type { RpcRefusal, RpcId } from './rpc.ts';
import type { Flow, Library } from './server-for.ts';

/** What is on the other end. */
export type ClientChannel = {
  /** What it is sent by. */
  readonly outbox: Outbox;
  close(): void;
};

const mayTakeLong: ReadonlySet<string> = new Set(['tools/call', 'subscriptions/listen']);

export class McpServerConnection implements Transport, Flow {
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  onmessage: Transport['onmessage'];
  readonly #library: Library;
  readonly #carrier: ClientChannel;
  readonly #unanswered = new Map<RpcId, string>();
  #quiet: (() => void)[] = [];
  /** When the last answer has been taken. */
  #turn: Promise<void> = Promise.resolve();
  #refused = 0;
  #over = false;

  constructor(library: Library, carrier: ClientChannel) {
    this.#library = library;
    this.#carrier = carrier;
  }

  async start(): Promise<void> {}

  acceptParsed(message: StrictJson): RpcRefusal | null {
    return 'problem' in message ? rpcRefusal(400, rpcCodes.parse, message.problem) : this.accept(message.value);
  }

  /** Takes what the client sent; or says what to answer instead. */
  accept(message: Json): RpcRefusal | null {
    if (this.#over) return null;
    const { isJSONRPCNotification, isJSONRPCRequest, isJSONRPCResponse } = this.#library;
    if (isJSONRPCRequest(message)) {
      const refused = this.#admit(message.id, message.method);
      if (refused === null) this.#deliver(message);
      return refused;
    }
    if (isJSONRPCNotification(message)) {
      this.#deliver(message);
      const cancelled = cancelledIn(message);
      if (cancelled !== null) this.#settle(cancelled);
      return null;
    }
    // This server asks its clients nothing.
    if (isJSONRPCResponse(message)) return null;
    const words = Array.isArray(message) ? 'Send one message at a time.' : 'It is no JSON-RPC 2.0 message.';
    return rpcRefusal(400, rpcCodes.request, words, idIn(message));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#over) return;
    // Whoever tells how a request goes on does not wait for a reader.
    if ('method' in message) return void this.#carrier.outbox.offer(JSON.stringify(message));
    await this.#inTurn(message);
    if (message.id !== undefined) this.#settle(message.id);
  }

  /** On the way that answers go. Resolves when it has been taken; a client that takes too few is left. */
  async refuse({ message }: RpcRefusal): Promise<void> {
    if (this.#over) return;
    if (this.#refused >= unansweredMax) return this.close();
    this.#refused += 1;
    await this.#inTurn(message);
    this.#refused -= 1;
  }

  take(bytes: number): boolean {
    return !this.#over && this.#carrier.outbox.hasRoomFor(bytes);
  }

  /** Resolves when nothing is unanswered but what may take long. */
  async quiet(): Promise<void> {
    if (!this.#isQuiet()) await new Promise<void>((resolve) => this.#quiet.push(resolve));
  }

  async close(): Promise<void> {
    if (this.#over) return;
    this.#over = true;
    this.#unanswered.clear();
    this.#tellQuiet();
    this.#carrier.close();
    this.onclose?.();
  }

  #inTurn(message: JSONRPCMessage | JsonObject): Promise<void> {
    const { outbox } = this.#carrier;
    return (this.#turn = this.#turn.then(() => (this.#over ? undefined : outbox.put(JSON.stringify(message)))));
  }

  #admit(id: RpcId, method: string): RpcRefusal | null {
    if (typeof id === 'string' && id.length > rpcIdCharsMax)
      return rpcRefusal(400, rpcCodes.request, `The id is too long: it has at most ${rpcIdCharsMax} characters.`);
    // The id would be the first one's in an answer, too.
    if (this.#unanswered.has(id))
      return rpcRefusal(
        400,
        rpcCodes.request,
        `The id ${JSON.stringify(id).slice(0, 80)} is in use: wait for its answer, or use another one.`,
      );
    if (this.#unanswered.size >= unansweredMax)
      return rpcRefusal(429, rpcCodes.server, `${unansweredMax} requests wait for an answer: send fewer at once.`, id);
    this.#unanswered.set(id, method);
    return null;
  }

  #deliver(message: JSONRPCMessage): void {
    try {
      this.onmessage?.(message);
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error('It could not be read.', { cause: error }));
    }
  }

  #settle(id: RpcId): void {
    this.#unanswered.delete(id);
    if (this.#isQuiet()) this.#tellQuiet();
  }

  #isQuiet(): boolean {
    return [...this.#unanswered.values()].every((method) => mayTakeLong.has(method));
  }

  #tellQuiet(): void {
    const told = this.#quiet;
    this.#quiet = [];
    for (const tell of told) tell();
  }
}
