// One request over HTTP and its answer.
import { eventStream } from './event-stream.ts';
import { notesWaitingMax } from './limits.ts';
import type { Flow, McpWorld } from './server-for.ts';

export class Exchange implements Flow {
  readonly #gone: AbortSignal;
  /** Its own: one that is made of others is kept as long as it has listeners. */
  readonly #ending = new AbortController();
  readonly #end = (): void => this.#ending.abort();
  #notesWaiting = 0;

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

  take(): boolean {
    if (this.#notesWaiting >= notesWaitingMax) return false;
    this.#notesWaiting += 1;
    return true;
  }

  /** All that the library looks at; the body is parsed already. */
  requestOf({ url, method, headers }: Request): Request {
    const { signal } = this.#ending;
    const request: Pick<Request, 'url' | 'method' | 'headers' | 'signal'> = { url, method, headers, signal };
    return request as Request;
  }

  /** What the library has ready is taken one message at a time, when the client wants it. */
  paced(body: ReadableStream<Uint8Array>, { clock }: McpWorld, ended: () => void): ReadableStream<Uint8Array> {
    const reader = body.getReader();
    const { signal } = this.#ending;
    const closed = (): void => {
      ended();
      reader.cancel().catch(() => undefined);
    };
    // The library listens late: who went away while it made ready is noticed here.
    if (signal.aborted) closed();
    else signal.addEventListener('abort', closed, { once: true });
    return eventStream(clock, {
      next: async () => {
        const { value, done } = await reader.read();
        this.#notesWaiting = Math.max(0, this.#notesWaiting - 1);
        return done ? null : value;
      },
      closed,
    });
  }
}

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
