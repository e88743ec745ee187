// All bodies that are being read, together.
//
//   A1. What is there of them never passes the bound, and what is there of one caller's never half of it. A body that is alone always fits.
//   A2. What a body has taken up is given back when it has been read, however that ends.
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

  /** What is there of all of them. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Throws `server_busy` when there is no room for what is announced. Only what comes takes up room. */
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
      throw new CloisterError('server_busy', 'Too much is being sent at once.', { retryAfterMs });
  }
}

const retryAfterMs = 1_000;

export class OpenBody {
  readonly #take: (more: number) => void;
  #bytes = 0;

  constructor(take: (more: number) => void) {
    this.#take = take;
  }

  /** So much of it is there now. Throws `server_busy` when that is too much. */
  hold(bytes: number): void {
    if (bytes === this.#bytes) return;
    this.#take(bytes - this.#bytes);
    this.#bytes = bytes;
  }

  close(): void {
    this.hold(0);
  }
}
