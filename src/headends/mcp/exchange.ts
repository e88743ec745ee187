// One HTTP request and its response.
import { bufferedBytesMax } from '#base';
import type { AdmittedRequest, ServerEvent } from '#contracts';
import { progressWaitingMax } from './limits.ts';
import type { Backpressure } from './server-factory.ts';

export class HttpExchange implements Backpressure {
  readonly #clientSignal: AbortSignal;
  /** A controller of its own, because a signal from `AbortSignal.any` is kept in memory as long as it has listeners. */
  readonly #controller = new AbortController();
  readonly #end = (): void => this.#controller.abort();
  /** The sizes of the notifications that the library holds for the client. */
  #notificationSizes: number[] = [];

  constructor(gone: AbortSignal) {
    this.#clientSignal = gone;
    gone.addEventListener('abort', this.#end, { once: true });
  }

  cancel(): void {
    this.#end();
  }

  close(): void {
    this.#clientSignal.removeEventListener('abort', this.#end);
  }

  tryReserve(bytes: number): boolean {
    const waiting = this.#notificationSizes.reduce((sum, one) => sum + one, 0);
    if (this.#notificationSizes.length >= progressWaitingMax || waiting + bytes > bufferedBytesMax) return false;
    this.#notificationSizes.push(bytes);
    return true;
  }

  /** Only what the library reads of a request; the body is already parsed. */
  libraryRequest({ headers }: AdmittedRequest): Request {
    const { signal } = this.#controller;
    const request: Pick<Request, 'url' | 'method' | 'headers' | 'signal'> = { url, method: 'POST', headers, signal };
    return request as Request;
  }

  /**
   * The library's messages, one at a time, as the client reads them. The library returns messages only as the body of a Response, so they
   * are extracted from it again: each chunk is one complete event, `event: message` and a line of data.
   */
  readEvents(body: ReadableStream<Uint8Array>, ended: () => void): AsyncIterable<ServerEvent> {
    const reader = body.getReader();
    const { signal } = this.#controller;
    const leave = (): void => {
      ended();
      reader.cancel().catch(() => undefined);
    };
    // The library starts to listen late, so a client that left while the response was prepared is noticed here.
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
    const next = async (): Promise<IteratorResult<ServerEvent>> => {
      const { value, done } = await reader.read();
      this.#notificationSizes.shift();
      if (!done) return { done, value: { event: 'message', data: eventData(value) } };
      ended();
      return { done, value: undefined };
    };
    const left = async (): Promise<IteratorResult<ServerEvent>> => {
      leave();
      return { done: true, value: undefined };
    };
    return { [Symbol.asyncIterator]: () => ({ next, return: left }) };
  }
}

/** The library requires an absolute URL. */
const url = 'http://localhost/mcp';

const decoder = new TextDecoder();

const eventData = (part: Uint8Array): string => {
  const text = decoder.decode(part);
  return text.slice(text.indexOf(dataField) + dataField.length).trimEnd();
};

const dataField = '\ndata: ';

/** The exchanges in flight that can be cancelled by id. */
export class OpenExchanges {
  readonly #byKey = new Map<string, Set<HttpExchange>>();

  add(key: string, exchange: HttpExchange): () => void {
    const same = this.#byKey.get(key) ?? new Set();
    this.#byKey.set(key, same.add(exchange));
    return () => {
      same.delete(exchange);
      if (same.size === 0 && this.#byKey.get(key) === same) this.#byKey.delete(key);
    };
  }

  cancel(key: string): void {
    const [one, ...others] = this.#byKey.get(key) ?? [];
    if (others.length === 0) one?.cancel();
  }
}
