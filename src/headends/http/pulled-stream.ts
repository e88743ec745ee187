// Bytes as a stream that is pulled: the next ones are asked for only when the reader has taken the last.
//
//   L1. What waits for a reader is one text. Long ones go out in parts.
//   L2. A reader that takes nothing for a while is dropped, and so is the source behind it.
import type { Clock, CancelTimer } from '#contracts';

export type PulledOptions = {
  readonly clock: Clock;
  /** How long a reader may take for one part. */
  readonly stallMs: number;
  /** Sent when there is nothing else to send for so long. */
  readonly idle?: { readonly ms: number; readonly text: string };
  /** The reader was too slow, or has gone: told once, before the source is closed. */
  readonly dropped?: (why: 'stalled' | 'gone') => void;
  /** The source has failed. */
  readonly failed?: (error: unknown) => void;
  /** Ends the connection, so that nothing that was cut off looks whole. Without it the stream fails. */
  readonly cut?: () => void;
};

const partBytes = 16 * 1024;

export const pulledStream = (
  source: AsyncIterable<string | Uint8Array>,
  options: PulledOptions,
): ReadableStream<Uint8Array> => new ReadableStream<Uint8Array>(new Pulled(source, options), { highWaterMark: 0 });

const nothing = new Uint8Array();
const encoder = new TextEncoder();

class Pulled {
  readonly #iterator: AsyncIterator<string | Uint8Array>;
  readonly #options: PulledOptions;
  #rest: Uint8Array = nothing;
  /** The next of the source has been asked for. One promise is waited for once, however often nothing comes for a while. */
  #isAsked = false;
  #came: (() => IteratorResult<string | Uint8Array>) | undefined;
  #wake: () => void = () => undefined;
  #stopIdle: CancelTimer | undefined;
  #stopStall: CancelTimer | undefined;
  #over = false;

  constructor(source: AsyncIterable<string | Uint8Array>, options: PulledOptions) {
    this.#iterator = source[Symbol.asyncIterator]();
    this.#options = options;
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    this.#stopStall?.();
    try {
      const bytes = this.#rest.length === 0 ? await this.#take() : this.#rest;
      if (this.#over) return;
      if (bytes === null) {
        this.#over = true;
        controller.close();
        return;
      }
      this.#rest = bytes.subarray(partBytes);
      controller.enqueue(bytes.subarray(0, partBytes));
      this.#stopStall = this.#options.clock.timer(this.#options.stallMs, () => this.#drop(controller));
    } catch (error) {
      if (this.#over) return;
      this.#over = true;
      this.#options.failed?.(error);
      this.#breakOff(controller, error);
    }
  }

  cancel(): void {
    this.#end('gone');
  }

  /** The next bytes, or what is sent when none come; null at the end. */
  async #take(): Promise<Uint8Array | null> {
    for (;;) {
      if (!this.#isAsked) this.#ask();
      if (this.#came === undefined) await this.#somethingOrIdle();
      if (this.#came === undefined) return encoder.encode(this.#options.idle?.text);
      const { done, value } = this.#came();
      if (done === true) return null;
      this.#isAsked = false;
      this.#came = undefined;
      const bytes = typeof value === 'string' ? encoder.encode(value) : value;
      // A stream cannot hold a part without bytes.
      if (bytes.length > 0) return bytes;
    }
  }

  #ask(): void {
    this.#isAsked = true;
    const came = (result: () => IteratorResult<string | Uint8Array>): void => {
      this.#came = result;
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

  #somethingOrIdle(): Promise<void> {
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
    if (this.#over) return;
    this.#end('stalled');
    this.#breakOff(controller, new Error('The reader takes nothing.'));
  }

  #breakOff(controller: ReadableStreamDefaultController<Uint8Array>, error: unknown): void {
    const { cut } = this.#options;
    if (cut === undefined) return controller.error(error);
    cut();
    controller.close();
  }

  #end(why: 'stalled' | 'gone'): void {
    if (this.#over) return;
    this.#over = true;
    this.#stopStall?.();
    this.#wake();
    this.#rest = nothing;
    this.#options.dropped?.(why);
    // A source that waits for something ends when that comes, or when its signal does.
    this.#iterator.return?.().then(undefined, () => undefined);
  }
}
