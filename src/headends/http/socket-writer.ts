// Texts on their way to the reader of a WebSocket.
//
//   W1. One text may be as long as it likes; what waits behind it is bounded, and past that the socket is cut.
//   W2. A reader that does not take the next text for a while is cut off too.
import type { WebSocket } from 'ws';
import type { Clock, Stop } from '#contracts';

const waitingMax = 256 * 1024;

export class SocketWriter {
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  readonly #stallMs: number;
  readonly #waiting: string[] = [];
  #waitingChars = 0;
  #closing = false;
  #stopStall: Stop | undefined;

  constructor(socket: WebSocket, { clock, stallMs }: { readonly clock: Clock; readonly stallMs: number }) {
    this.#socket = socket;
    this.#clock = clock;
    this.#stallMs = stallMs;
    socket.once('close', () => this.#stopStall?.());
  }

  send(text: string): void {
    if (this.#closing || this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#waitingChars > waitingMax) return this.#socket.terminate();
    this.#waiting.push(text);
    this.#waitingChars += text.length;
    this.#flush();
  }

  /** After what has been sent. */
  close(): void {
    this.#closing = true;
    this.#flush();
  }

  #flush(): void {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return;
    while (this.#waiting.length > 0 && socket.bufferedAmount <= waitingMax) {
      const text = this.#waiting.shift()!;
      this.#waitingChars -= text.length;
      this.#stopStall ??= this.#watch();
      socket.send(text, () => this.#taken());
    }
    if (this.#closing && this.#waiting.length === 0) socket.close();
  }

  #taken(): void {
    this.#stopStall?.();
    this.#stopStall = this.#socket.bufferedAmount > 0 ? this.#watch() : undefined;
    this.#flush();
  }

  #watch(): Stop {
    return this.#clock.timer(this.#stallMs, () => this.#socket.terminate());
  }
}
