// Sends texts over a WebSocket.
//
//   socket-bytes-bounded. The bytes waiting to be sent are bounded; past the bound, the socket is cut. A single text may be of
//       any length.
//   socket-stalled-reader-cut. A text is sent in parts. A reader that does not take the next part for a while is cut off, too.
import type { WebSocket } from 'ws';
import { bufferedBytesMax } from '#base';
import type { Clock } from '#contracts';

const partBytes = 64 * 1024;

type QueuedText = { readonly bytes: Buffer; readonly taken: () => void };

export class SocketWriter {
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  readonly #stallMs: number;
  readonly #waiting: QueuedText[] = [];
  /** The bytes of all texts not taken yet, including the one being sent. */
  #bytes = 0;
  #writing = false;
  #closing = false;

  constructor(socket: WebSocket, { clock, stallMs }: { readonly clock: Clock; readonly stallMs: number }) {
    this.#socket = socket;
    this.#clock = clock;
    this.#stallMs = stallMs;
  }

  /** Resolves when the text has been taken, or can no longer be. */
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

  /** Closes the socket after all texts that were sent before. */
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
      // The callback also runs, with an error, if the socket closes in the meantime.
      await new Promise<void>((taken) =>
        this.#socket.send(part, { binary: false, fin: from >= bytes.length }, () => taken()),
      );
      stop();
    } while (from < bytes.length);
  }
}
