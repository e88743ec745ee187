// Bounds the bytes of all request bodies that are being read.
//
//   bodies-bounded. The bytes received never exceed the bound, and those of one caller never exceed half of it. A single body
//       always fits.
//   bodies-returned. A body gives its bytes back once reading ends, successfully or not.
import { CloisterError } from '#base';
import type { HttpLimits } from './limits.ts';

export class BodyBudget {
  readonly #bytesMax: number;
  readonly #callerBytesMax: number;
  readonly #byCaller = new Map<string, number>();
  #bytes = 0;

  constructor({ bodiesBytesMax, bodyBytesMax }: Pick<HttpLimits, 'bodiesBytesMax' | 'bodyBytesMax'>) {
    this.#bytesMax = Math.max(bodiesBytesMax, bodyBytesMax);
    this.#callerBytesMax = Math.max(Math.floor(bodiesBytesMax / 2), bodyBytesMax);
  }

  /** Bytes received of all bodies that are being read. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Throws `server_busy` if the announced bytes do not fit. Only received bytes take up room. */
  open(caller: string, announced: number): OpenBody {
    this.#check(caller, announced);
    return new OpenBody((more) => this.#take(caller, more));
  }

  #take(caller: string, more: number): void {
    if (more > 0) this.#check(caller, more);
    this.#bytes += more;
    const own = (this.#byCaller.get(caller) ?? 0) + more;
    if (own === 0) this.#byCaller.delete(caller);
    else this.#byCaller.set(caller, own);
  }

  #check(caller: string, more: number): void {
    if (this.#bytes + more > this.#bytesMax || (this.#byCaller.get(caller) ?? 0) + more > this.#callerBytesMax)
      throw new CloisterError('server_busy', 'Too many request bytes are in flight.', { retryAfterMs });
  }
}

const retryAfterMs = 1_000;

export class OpenBody {
  readonly #take: (more: number) => void;
  #bytes = 0;

  constructor(take: (more: number) => void) {
    this.#take = take;
  }

  /** Sets how many bytes have been received. Throws `server_busy` if they do not fit. */
  hold(bytes: number): void {
    if (bytes === this.#bytes) return;
    this.#take(bytes - this.#bytes);
    this.#bytes = bytes;
  }

  close(): void {
    this.hold(0);
  }
}
