// The transport as the client sees it, whatever driver carries it.
//
//   mcp-request-fails-alone. A single request can fail while the others continue.
//   mcp-connection-end-fails-pending. When the connection ends, all pending requests fail immediately, and `lossReason` tells
//       why unless we closed it.
//   mcp-message-never-throws. No message, however malformed, throws into the reader that delivers it.
import type { JSONRPCMessage, RequestId, Transport, TransportSendOptions } from '@modelcontextprotocol/client';
import { CloisterError } from '#base';
import { messageBytesMax, formatCount } from './limits.ts';
import type { TruncatedLine } from './split-lines.ts';

// The request that an oversized message answers is found by its text.
const idMember = '"id"\\s*:\\s*(\\d+|"[^"\\\\]*")';
const versionMember = '"jsonrpc"\\s*:\\s*"2\\.0"';

// Only the first and last members of the outermost object can be distinguished from nested ones.
const idAtStart = new RegExp(`^\\s*\\{\\s*(?:${versionMember}\\s*,\\s*)?${idMember}\\s*,`, 'u');
const idAtEnd = new RegExp(`[,{]\\s*${idMember}\\s*(?:,\\s*${versionMember}\\s*)?\\}\\s*$`, 'u');
const notification = new RegExp(`^\\s*\\{\\s*(?:${versionMember}\\s*,\\s*)?"method"\\s*:`, 'u');

/** The id of the answered request; null when the message is not a response; undefined when that is unknown. */
export const responseIdOf = ({ head, tail }: TruncatedLine): string | number | null | undefined => {
  if (notification.test(head)) return null;
  const found = (idAtStart.exec(head) ?? idAtEnd.exec(tail))?.[1];
  return found === undefined ? undefined : (JSON.parse(found) as string | number);
};

/** Carries messages to one server, and delivers what it receives to its transport. */
type TransportDriver = {
  start?(): Promise<void>;
  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void>;
  /** Never rejects, and may be called again. */
  close(): Promise<void>;
  /** Each request has its own stream for its response. */
  readonly hasPerRequestStream?: boolean;
  sessionId?(): string | undefined;
  setProtocolVersion?(version: string): void;
};

export class McpTransport implements Transport {
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  onmessage: Transport['onmessage'];
  readonly hasPerRequestStream: boolean;
  /** Why the connection was lost. */
  lossReason: CloisterError | undefined;
  readonly #driver: TransportDriver;
  readonly #waiting = new Set<RequestId>();
  #isClosed = false;

  constructor(carry: (transport: McpTransport) => TransportDriver) {
    this.#driver = carry(this);
    this.hasPerRequestStream = this.#driver.hasPerRequestStream ?? false;
  }

  async start(): Promise<void> {
    await this.#driver.start?.();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (this.#isClosed) throw this.lossReason ?? new CloisterError('cancelled');
    if (!('method' in message) || !('id' in message)) {
      if ('method' in message && message.method === 'notifications/cancelled')
        this.#waiting.delete(message.params?.['requestId'] as RequestId);
      return this.#driver.send(message, options);
    }
    const { id } = message;
    this.#waiting.add(id);
    options?.requestSignal?.addEventListener('abort', () => this.#waiting.delete(id), { once: true });
    await this.#driver.send(message, { ...options, onRequestStreamEnd: () => this.failRequest(id, unansweredError()) });
  }

  /** Called by the driver with a received message. */
  deliver(message: unknown): void {
    if (this.#isClosed || message === null || typeof message !== 'object') return;
    if ('id' in message && !('method' in message)) this.#waiting.delete(message.id as RequestId);
    try {
      this.onmessage?.(message as JSONRPCMessage);
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error('The message could not be handled.', { cause: error }));
    }
  }

  /** Fails one request. The client wraps the error; `findCloisterError` finds it again. */
  failRequest(id: RequestId, error: CloisterError): void {
    if (!this.#waiting.has(id)) return;
    this.deliver({ jsonrpc: '2.0', id, error: { code: -32_000, message: error.message, data: error } });
  }

  /** A message arrived that is too large to keep. */
  oversized(line: TruncatedLine): void {
    const found = responseIdOf(line);
    const id = found === undefined && this.#waiting.size === 1 ? [...this.#waiting][0] : found;
    if (id !== undefined && id !== null) this.failRequest(id, oversizedMessageError(line.bytes));
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Called by the driver when the connection ended without our doing. */
  connectionLost(error: CloisterError): void {
    if (this.#isClosed) return;
    this.lossReason = error;
    void this.close();
  }

  async close(): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.onclose?.();
    }
    await this.#driver.close();
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get sessionId(): string | undefined {
    return this.#driver.sessionId?.();
  }

  setProtocolVersion(version: string): void {
    this.#driver.setProtocolVersion?.(version);
  }
}

export const oversizedMessageError = (bytes?: number): CloisterError =>
  new CloisterError(
    'tool_too_large',
    `The response is ${bytes === undefined ? 'too large' : `${formatCount(bytes)} bytes`}; the limit is ${formatCount(messageBytesMax)} bytes.`,
  );

const unansweredError = (): CloisterError =>
  new CloisterError('server_failed', 'The server closed the connection before responding.');

/** Parses one message or a batch. Text that is not JSON is not a message and is ignored. */
export const parseMessages = (text: string): readonly unknown[] => {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [value];
  } catch {
    return [];
  }
};
