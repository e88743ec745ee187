// What the requests of runs were told whose clients have tools, so that it can be told again.
//
//   K1. What is kept of a caller is told to nobody else.
//   K2. It is bounded: the newest answers of each run, and, of those that have ended, the newest runs of each caller.
import type { RunId } from '#base';
import type { Caller, SpentTokens, RequestState } from '#contracts';

const [charsMax, endedMax] = [256 * 1024, 16];

/** The answers of one run, counted from 1. */
export class RequestStates {
  readonly #parts = new Map<number, { readonly part: RequestState; readonly chars: number }>();
  #newest = 0;
  #chars = 0;

  /** Gives its number. */
  begin(): number {
    this.#newest += 1;
    this.#put(this.#newest, { state: 'under way' });
    return this.#newest;
  }

  record(nth: number, part: RequestState): void {
    this.#put(nth, part);
  }

  /** The run is over, and with it what was under way. */
  end(spent: SpentTokens): void {
    for (const [nth, { part }] of this.#parts)
      if (part.state === 'under way') this.#put(nth, { state: 'ended', spent });
  }

  get(nth: number): RequestState | undefined {
    return this.#parts.get(nth)?.part;
  }

  #put(nth: number, part: RequestState): void {
    this.#chars -= this.#parts.get(nth)?.chars ?? 0;
    const chars = JSON.stringify(part).length;
    this.#parts.set(nth, { part, chars });
    this.#chars += chars;
    for (const [oldest, kept] of this.#parts) {
      if (this.#chars <= charsMax || oldest === this.#newest) return;
      this.#parts.delete(oldest);
      this.#chars -= kept.chars;
    }
  }
}

type Kept = { readonly parts: RequestStates; isOver: boolean };

export class RunRequestStates {
  /** By their callers; those that have ended in the order in which they did. */
  readonly #runs = new Map<string, Map<RunId, Kept>>();

  begin(caller: string, run: RunId, parts: RequestStates): void {
    const own = this.#runs.get(caller) ?? new Map<RunId, Kept>();
    this.#runs.set(caller, own);
    own.set(run, { parts, isOver: false });
  }

  end(caller: string, run: RunId): void {
    const own = this.#runs.get(caller);
    const kept = own?.get(run);
    if (own === undefined || kept === undefined) return;
    own.delete(run);
    own.set(run, { ...kept, isOver: true });
    const ended = [...own].filter(([, { isOver }]) => isOver);
    for (const [old] of ended.slice(0, Math.max(0, ended.length - endedMax))) own.delete(old);
  }

  get({ name }: Caller, run: string, nth: number): RequestState | undefined {
    return this.#runs
      .get(name)
      ?.get(run as RunId)
      ?.parts.get(nth);
  }
}
