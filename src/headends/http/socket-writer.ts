// Texts on their way to the reader of a WebSocket.
//
//   W1. What waits is bounded, and past that the socket is cut; a text that is alone may be as long as it likes.
//   W2. A text goes out in parts. A reader that does not take the next part for a while is cut off too.
import type { WebSocket } from 'ws';
import { bufferedBytesMax } from '#base';
import type { Clock } from '#contracts';

const partBytes = 64 * 1024;

type Waiting = { readonly bytes: Buffer; readonly taken: () => void };

export class SocketWriter {
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  readonly #stallMs: number;
  readonly #waiting: Waiting[] = [];
  /** Of all texts that are not taken, the one that is on its way included. */
  #bytes = 0;
  #writing = false;
  #closing = false;

  constructor(socket: WebSocket, { clock, stallMs }: { readonly clock: Clock; readonly stallMs: number }) {
    this.#socket = socket;
    this.#clock = clock;
    this.#stallMs = stallMs;
  }

  /** Resolves when it has been taken, or cannot be any more. */
  async send(text: string): Promise<void> {
    if (this.#closing || this.#socket.readyState !== this.#socket.OPEN) return;
    const bytes = Buffer.from(text);
    if (this.#bytes > 0 && this.#bytes + bytes.length > bufferedBytesMax) return this.#socket.terminate();
    this.#bytes += bytes.length;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ bytes, taken: resolve });
    if (!this.#writing) void this.#writeAll();
    await promise;
  }

  /** After what has been sent. */
  close(): void {
    this.#closing = true;
    if (!this.#writing) this.#socket.close();
  }

  async #writeAll(): Promise<void> {
    this.#writing = true;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      await this.#write(next.bytes);
      this.#bytes -= next.bytes.length;
      next.taken();
    }
    this.#writing = false;
    if (this.#closing) this.#socket.close();
  }

  async #write(bytes: Buffer): Promise<void> {
    let from = 0;
    do {
      const part = bytes.subarray(from, from + partBytes);
      from += partBytes;
      const stop = this.#clock.timer(this.#stallMs, () => this.#socket.terminate());
      // What a socket that is closed meanwhile did not take, it says so.
      await new Promise<void>((taken) =>
        this.#socket.send(part, { binary: false, fin: from >= bytes.length }, () => taken()),
      );
      stop();
    } while (from < bytes.length);
  }
}
