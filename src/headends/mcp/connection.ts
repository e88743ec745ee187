// Carries JSON-RPC messages between one client and its server object, whatever the bytes travel on.
//
//   C1. What a client may have unanswered is bounded; so is, with it, what waits for the client to read.
//   C2. An id is one request's until that is answered or cancelled.
//   C3. Whatever comes in is answered, refused or dropped; nothing that a client sends throws.
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server';
import type { Json } from '#base';
import { unansweredMax } from './limits.ts';
import { cancelledIn, idIn, refusal, rpcCodes } from './rpc.ts';
import type { Refusal, RpcId } from './rpc.ts';
import type { Flow, Library } from './server-for.ts';

export type Carrier = {
  /** Resolves when there is room for the next one. Never rejects. */
  send(text: string): Promise<void>;
  hasRoom(): boolean;
  close(): void;
};

const mayTakeLong: ReadonlySet<string> = new Set(['tools/call', 'subscriptions/listen']);

export class Connection implements Transport, Flow {
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  onmessage: Transport['onmessage'];
  readonly #library: Library;
  readonly #carrier: Carrier;
  readonly #unanswered = new Map<RpcId, string>();
  #quiet: (() => void)[] = [];
  #over = false;

  constructor(library: Library, carrier: Carrier) {
    this.#library = library;
    this.#carrier = carrier;
  }

  async start(): Promise<void> {}

  /** Takes what the client sent; or says what to answer instead. */
  accept(message: Json): Refusal | null {
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
    return refusal(400, rpcCodes.request, words, idIn(message));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#over) return;
    const sent = this.#carrier.send(JSON.stringify(message));
    // Whoever tells how a request goes on does not wait for a reader; `take` tells it when to leave that out.
    if ('method' in message) return;
    await sent;
    if (message.id !== undefined) this.#settle(message.id);
  }

  take(): boolean {
    return !this.#over && this.#carrier.hasRoom();
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

  #admit(id: RpcId, method: string): Refusal | null {
    // The id would be the first one's in an answer, too.
    if (this.#unanswered.has(id))
      return refusal(
        400,
        rpcCodes.request,
        `The id ${JSON.stringify(id).slice(0, 80)} is in use: wait for its answer, or use another one.`,
      );
    if (this.#unanswered.size >= unansweredMax)
      return refusal(429, rpcCodes.server, `${unansweredMax} requests wait for an answer: send fewer at once.`, id);
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
