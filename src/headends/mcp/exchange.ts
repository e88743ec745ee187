// One request over HTTP and its answer.
import { bufferedBytesMax } from '#base';
import type { AdmittedRequest, ServerEvent } from '#contracts';
import { notesWaitingMax } from './limits.ts';
import type { Flow } from './server-for.ts';

export class Exchange implements Flow {
  readonly #gone: AbortSignal;
  /** Its own: one that is made of others is kept as long as it has listeners. */
  readonly #ending = new AbortController();
  readonly #end = (): void => this.#ending.abort();
  /** How many bytes the notes have that the library holds for the client. */
  #notes: number[] = [];

  constructor(gone: AbortSignal) {
    this.#gone = gone;
    gone.addEventListener('abort', this.#end, { once: true });
  }

  cancel(): void {
    this.#end();
  }

  over(): void {
    this.#gone.removeEventListener('abort', this.#end);
  }

  take(bytes: number): boolean {
    const waiting = this.#notes.reduce((sum, one) => sum + one, 0);
    if (this.#notes.length >= notesWaitingMax || waiting + bytes > bufferedBytesMax) return false;
    this.#notes.push(bytes);
    return true;
  }

  /** All that the library looks at; the body is parsed already. */
  requestOf({ headers }: AdmittedRequest): Request {
    const { signal } = this.#ending;
    const request: Pick<Request, 'url' | 'method' | 'headers' | 'signal'> = { url, method: 'POST', headers, signal };
    return request as Request;
  }

  /**
   * What the library has ready, one message at a time, when the client wants it. The library gives messages only as the body of a response
   * of its own, so they are taken out of that again: each of its parts is one whole event, `event: message` and a line of data.
   */
  eventsIn(body: ReadableStream<Uint8Array>, ended: () => void): AsyncIterable<ServerEvent> {
    const reader = body.getReader();
    const { signal } = this.#ending;
    const leave = (): void => {
      ended();
      reader.cancel().catch(() => undefined);
    };
    // The library listens late: who went away while it made ready is noticed here.
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
    const next = async (): Promise<IteratorResult<ServerEvent>> => {
      const { value, done } = await reader.read();
      this.#notes.shift();
      if (!done) return { done, value: { event: 'message', data: dataIn(value) } };
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

/** The library wants one that is whole. */
const url = 'http://localhost/mcp';

const decoder = new TextDecoder();

const dataIn = (part: Uint8Array): string => {
  const text = decoder.decode(part);
  return text.slice(text.indexOf(dataField) + dataField.length).trimEnd();
};

const dataField = '\ndata: ';

/** Those under way that could be cancelled by their id. */
export class Exchanges {
  readonly #byKey = new Map<string, Set<Exchange>>();

  enter(key: string, exchange: Exchange): () => void {
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
