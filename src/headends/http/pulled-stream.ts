// A pull-based byte stream: it asks its source for more only when the reader has taken the last part.
//
//   stream-one-text-waits. At most one text waits for the reader. Long texts are sent in parts.
//   stream-stalled-reader-dropped. A reader that takes nothing for a while is dropped, and its source is closed.
import type { Clock, CancelTimer } from '#contracts';

export type PulledOptions = {
  readonly clock: Clock;
  /** How long a reader may take for one part. */
  readonly stallMs: number;
  /** Text to send after so long without anything else to send. */
  readonly idle?: { readonly ms: number; readonly text: string };
  /** Changes the bytes on their way; each part can be read when it arrives. `end` makes the last ones; `close` releases it. */
  readonly encoder?: {
    encode(bytes: Uint8Array): Promise<Uint8Array>;
    end(): Promise<Uint8Array>;
    close(): void;
  };
  /** The reader was too slow, or is gone. Called once, before the source is closed. */
  readonly onDropped?: (why: 'stalled' | 'gone') => void;
  /** The source has failed. */
  readonly onFailed?: (error: unknown) => void;
  /** Ends the connection, so that a truncated stream does not look complete. Without it, the stream errors. */
  readonly cut?: () => void;
};

const partBytes = 16 * 1024;

export const pulledStream = (
  source: AsyncIterable<string | Uint8Array>,
  options: PulledOptions,
): ReadableStream<Uint8Array> =>
  new ReadableStream<Uint8Array>(new PulledSource(source, options), { highWaterMark: 0 });

const noBytes = new Uint8Array();
const utf8 = new TextEncoder();

class PulledSource {
  readonly #iterator: AsyncIterator<string | Uint8Array>;
  readonly #options: PulledOptions;
  #rest: Uint8Array = noBytes;
  /** The next item has been requested. Its promise is awaited once, however often the stream is idle in the meantime. */
  #isRequested = false;
  #result: (() => IteratorResult<string | Uint8Array>) | undefined;
  #wake: () => void = () => undefined;
  #stopIdle: CancelTimer | undefined;
  #stopStall: CancelTimer | undefined;
  /** The source has ended, and the last bytes of the encoder were taken. */
  #isComplete = false;
  #ended = false;

  constructor(source: AsyncIterable<string | Uint8Array>, options: PulledOptions) {
    this.#iterator = source[Symbol.asyncIterator]();
    this.#options = options;
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    this.#stopStall?.();
    try {
      const bytes = this.#rest.length === 0 ? await this.#takeEncoded() : this.#rest;
      if (this.#ended) return;
      if (bytes === null) {
        this.#ended = true;
        this.#options.encoder?.close();
        controller.close();
        return;
      }
      this.#rest = bytes.subarray(partBytes);
      controller.enqueue(bytes.subarray(0, partBytes));
      this.#stopStall = this.#options.clock.timer(this.#options.stallMs, () => this.#drop(controller));
    } catch (error) {
      if (this.#ended) return;
      this.#ended = true;
      this.#options.encoder?.close();
      this.#options.onFailed?.(error);
      this.#abort(controller, error);
    }
  }

  cancel(): void {
    this.#end('gone');
  }

  async #takeEncoded(): Promise<Uint8Array | null> {
    const { encoder } = this.#options;
    if (encoder === undefined) return this.#take();
    if (this.#isComplete) return null;
    const bytes = await this.#take();
    this.#isComplete = bytes === null;
    return bytes === null ? encoder.end() : encoder.encode(bytes);
  }

  /** The next bytes, or the idle text if none arrive in time; null at the end. */
  async #take(): Promise<Uint8Array | null> {
    for (;;) {
      if (!this.#isRequested) this.#requestNext();
      if (this.#result === undefined) await this.#waitForNextOrIdle();
      if (this.#result === undefined) return utf8.encode(this.#options.idle?.text);
      const { done, value } = this.#result();
      if (done === true) return null;
      this.#isRequested = false;
      this.#result = undefined;
      const bytes = typeof value === 'string' ? utf8.encode(value) : value;
      // A byte stream rejects empty chunks.
      if (bytes.length > 0) return bytes;
    }
  }

  #requestNext(): void {
    this.#isRequested = true;
    const came = (result: () => IteratorResult<string | Uint8Array>): void => {
      this.#result = result;
      this.#wake();
    };
    this.#iterator.next().then(
      (result) => came(() => result),
      (error: unknown) =>
        came(() => {
          throw error;
        }),
    );
  }

  #waitForNextOrIdle(): Promise<void> {
    const { idle, clock } = this.#options;
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#stopIdle?.();
        resolve();
      };
      this.#wake = wake;
      this.#stopIdle = idle === undefined ? undefined : clock.timer(idle.ms, resolve);
    });
  }

  #drop(controller: ReadableStreamDefaultController<Uint8Array>): void {
    if (this.#ended) return;
    this.#end('stalled');
    this.#abort(controller, new Error('The reader has stalled.'));
  }

  #abort(controller: ReadableStreamDefaultController<Uint8Array>, error: unknown): void {
    const { cut } = this.#options;
    if (cut === undefined) return controller.error(error);
    cut();
    controller.close();
  }

  #end(why: 'stalled' | 'gone'): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#stopStall?.();
    this.#wake();
    this.#rest = noBytes;
    this.#options.encoder?.close();
    this.#options.onDropped?.(why);
    // A source that is awaiting something ends only when that settles or its signal aborts, so its end is not awaited here.
    this.#iterator.return?.().then(undefined, () => undefined);
  }
}
