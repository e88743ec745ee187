// The transport that the client sees, whatever carries it.
//
//   W1. A request can be failed by itself: the others go on.
//   W2. When the connection ends, all that wait for an answer are told at once, and `lost` says why unless we ended it.
//   W3. No message, however odd, throws into the reader that delivers it.
import type { JSONRPCMessage, RequestId, Transport, TransportSendOptions } from '@modelcontextprotocol/client';
import { CloisterError } from '#base';
import type { TruncatedLine } from './split-lines.ts';
import { messageBytesMax, shownCount } from './limits.ts';
import { responseIdOf } from './response-id.ts';

/** What carries messages to one server. It hands what it hears to its wire. */
export type TransportDriver = {
  start?(): Promise<void>;
  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void>;
  /** Never rejects, and may be called again. */
  close(): Promise<void>;
  /** Each request has a stream of its own for its answer. */
  readonly hasPerRequestStream?: boolean;
  sessionId?(): string | undefined;
  setProtocolVersion?(version: string): void;
};

export class McpTransport implements Transport {
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  onmessage: Transport['onmessage'];
  readonly hasPerRequestStream: boolean;
  /** Why it ended by itself. */
  lost: CloisterError | undefined;
  readonly #carrier: TransportDriver;
  readonly #waiting = new Set<RequestId>();
  #over = false;

  constructor(carry: (wire: McpTransport) => TransportDriver) {
    this.#carrier = carry(this);
    this.hasPerRequestStream = this.#carrier.hasPerRequestStream ?? false;
  }

  async start(): Promise<void> {
    await this.#carrier.start?.();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (this.#over) throw this.lost ?? new CloisterError('cancelled');
    if (!('method' in message) || !('id' in message)) {
      if ('method' in message && message.method === 'notifications/cancelled')
        this.#waiting.delete(message.params?.['requestId'] as RequestId);
      return this.#carrier.send(message, options);
    }
    const { id } = message;
    this.#waiting.add(id);
    options?.requestSignal?.addEventListener('abort', () => this.#waiting.delete(id), { once: true });
    await this.#carrier.send(message, { ...options, onRequestStreamEnd: () => this.fail(id, unanswered()) });
  }

  /** What the carrier heard. */
  deliver(message: unknown): void {
    if (this.#over || message === null || typeof message !== 'object') return;
    if ('id' in message && !('method' in message)) this.#waiting.delete(message.id as RequestId);
    try {
      this.onmessage?.(message as JSONRPCMessage);
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error('It could not be read.', { cause: error }));
    }
  }

  /** One request will not be answered. The client wraps the error; `oursIn` finds it again. */
  fail(id: RequestId, error: CloisterError): void {
    if (!this.#waiting.has(id)) return;
    this.deliver({ jsonrpc: '2.0', id, error: { code: -32_000, message: error.message, data: error } });
  }

  /** A message came that is too large to keep. */
  oversized(ends: TruncatedLine): void {
    const found = responseIdOf(ends);
    const id = found === undefined && this.#waiting.size === 1 ? [...this.#waiting][0] : found;
    if (id !== undefined && id !== null) this.fail(id, oversizedMessageError(ends.bytes));
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** The carrier's end, not asked for. */
  lose(error: CloisterError): void {
    if (this.#over) return;
    this.lost = error;
    void this.close();
  }

  async close(): Promise<void> {
    if (!this.#over) {
      this.#over = true;
      this.onclose?.();
    }
    await this.#carrier.close();
  }

  get over(): boolean {
    return this.#over;
  }

  get sessionId(): string | undefined {
    return this.#carrier.sessionId?.();
  }

  setProtocolVersion(version: string): void {
    this.#carrier.setProtocolVersion?.(version);
  }
}

export const oversizedMessageError = (bytes?: number): CloisterError =>
  new CloisterError(
    'tool_too_large',
    `The answer ${bytes === undefined ? 'is larger' : `was ${shownCount(bytes)} bytes`}; at most ${shownCount(messageBytesMax)} bytes are read.`,
  );

const unanswered = (): CloisterError =>
  new CloisterError('server_failed', 'It ended the connection before it answered.');
