// Time that jumps: whoever drives it fires the next timer, and then it is that late.
//
//   T1. Timers fire in the order of their time, equal ones in the order in which they were set.
//   T2. While promises still settle, no time passes; nor, for who asks, while real timers and files are waited for.
import assert from 'node:assert';
// Imported, so that a test runner's fake timers do not stop it.
import { setImmediate, setTimeout } from 'node:timers';
import type { Clock, Stop } from '#contracts';

type Timer = { readonly at: number; readonly due: () => void };

/** When nothing was due for so long, by the real clock, nothing will be. */
const idleMsMax = 5_000;

export class FakeTime implements Clock {
  #now: number;
  readonly #timers: Timer[] = [];
  readonly #heedsReal: boolean;
  /** What was under way before: a test runner's own timers, for one. */
  readonly #realBefore: number;

  /** `heedsReal`: real timers and files that are under way are waited for before time jumps. */
  constructor(startMs = 0, heedsReal = false) {
    this.#now = startMs;
    this.#heedsReal = heedsReal;
    this.#realBefore = heedsReal ? realWork() : 0;
  }

  now(): number {
    return this.#now;
  }

  timer(ms: number, due: () => void): Stop {
    assert(!Number.isNaN(ms), 'a timer needs a number of milliseconds');
    const timer = { at: this.#now + Math.max(0, ms), due };
    let index = this.#timers.length;
    while (index > 0 && this.#timers[index - 1]!.at > timer.at) index--;
    this.#timers.splice(index, 0, timer);
    return () => {
      const at = this.#timers.indexOf(timer);
      if (at >= 0) this.#timers.splice(at, 1);
    };
  }

  /** Undefined when there is nothing to wait for. */
  sleep(ms: number): Promise<void> | undefined {
    return ms <= 0 ? undefined : new Promise((resolve) => void this.timer(ms, resolve));
  }

  /** How many timers are set. */
  get waiting(): number {
    return this.#timers.length;
  }

  /** Moves on, firing what falls due in order; promises settle before, between and after. */
  async advance(ms: number): Promise<void> {
    assert(ms >= 0, 'time does not go back');
    const until = this.#now + ms;
    do await settled();
    while (this.#fireNext(until));
    this.#now = until;
  }

  /** Lets time jump from timer to timer until the work is done. Rejects as it does, or when nothing is left to wait for. */
  async finish<T>(work: Promise<T>): Promise<T> {
    let over = false;
    const end = (): boolean => (over = true);
    work.then(end, end);
    for (let idleFrom = 0; idleFrom === 0 || performance.now() - idleFrom < idleMsMax;) {
      await settled();
      if (over) return work;
      const isBusy = this.#heedsReal && realWork() > this.#realBefore;
      if (!isBusy && this.#fireNext(Infinity)) idleFrom = 0;
      else if (isBusy) await turned();
      else if (idleFrom === 0) idleFrom = performance.now();
    }
    throw new Error(
      'Nothing is due any more, and the work has not ended: it waits for something outside this fake world, such as real time or a network.',
    );
  }

  /** True when a timer was due by then. */
  #fireNext(until: number): boolean {
    const [timer] = this.#timers;
    if (timer === undefined || timer.at > until || timer.at === Infinity) return false;
    this.#timers.shift();
    this.#now = timer.at;
    timer.due();
    return true;
  }
}

/** Timers, and requests to the operating system, that the process waits for. */
const realWork = (): number =>
  process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout' || kind.includes('Req')).length;

/** A little later: whoever waits for something real need not be asked all the time. */
const turned = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, 1));

/** All microtasks run before an immediate does. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
