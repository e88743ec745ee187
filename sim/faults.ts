// Draws the faults of a seed and counts them by kind. After some time, no more faults occur.
import type { FaultPlan } from './plan.ts';
import type { Random } from './random.ts';
import type { Scheduler } from './scheduler.ts';
import type { DiskFaults } from './disk.ts';

export type Counts = Record<string, number>;

export class Faults {
  readonly plan: FaultPlan;
  readonly random: Random;
  readonly counts: Counts = {};
  readonly #scheduler: Scheduler;
  #crashesLeft: number;
  #stopped = false;

  constructor(plan: FaultPlan, random: Random, scheduler: Scheduler) {
    this.plan = plan;
    this.random = random;
    this.#scheduler = scheduler;
    this.#crashesLeft = plan.crashesMax;
  }

  get on(): boolean {
    return !this.#stopped && this.#scheduler.now < this.plan.untilMs;
  }

  /** From now on, no faults occur. */
  stop(): void {
    this.#stopped = true;
  }

  count(kind: string): void {
    this.counts[kind] = (this.counts[kind] ?? 0) + 1;
  }

  /** Returns one of the kinds by weight, with the given probability; otherwise null. */
  draw<K extends string>(rate: number, area: string, kinds: Readonly<Record<K, number>>): K | null {
    if (rate === 0 || !this.on || !this.random.chance(rate)) return null;
    const kind = this.random.weighted(kinds);
    this.count(`${area}: ${kind}`);
    return kind;
  }

  /** The number of the call at which a new process crashes; null: it does not. */
  dieAtCall(): number | null {
    return this.on && this.#crashesLeft > 0 && this.random.chance(this.plan.crash) ? this.random.log(25, 400) : null;
  }

  /** The record about a question before which a new process crashes, or the moment of a signal; null: it does not. */
  dieAtPlace(): string | null {
    const { crashBefore, crashAt, crashInStorage } = this.plan;
    if (!this.on || this.#crashesLeft === 0) return null;
    const random = this.random.fork(`question ${this.#crashesLeft}`);
    if (crashInStorage !== null && random.fork('storage').chance(0.6)) return crashInStorage;
    const isBefore = crashBefore !== null && random.chance(0.6);
    if (crashAt !== null && random.fork('signal').chance(isBefore ? 0.5 : 0.8)) return crashAt;
    return isBefore ? `append ${crashBefore}` : null;
  }

  /** After which time a new process crashes; null: it does not. */
  dieAfterMs(): number | null {
    return this.on && this.#crashesLeft > 0 && this.random.chance(this.plan.crash / 3)
      ? this.random.log(1, 3_000)
      : null;
  }

  /** Uses up one crash; false if none is left. */
  spendCrash(): boolean {
    if (!this.on || this.#crashesLeft <= 0) return false;
    this.#crashesLeft--;
    this.count('process: crash');
    return true;
  }

  readonly disk: DiskFaults = (place) => {
    const { disk } = this.plan;
    switch (place) {
      case 'connect':
        return this.draw(disk / 4, 'disk', { unopened: 1 });
      case 'begin':
        return this.draw(disk / 4, 'disk', { busy: 1 });
      case 'write':
        return this.draw(disk / 20, 'disk', { full: 1 });
      case 'commit':
        return this.draw(disk, 'disk', { 'commit-lost': 1, 'commit-written': 1 });
      case 'read':
        return this.draw(disk / 2, 'disk', { unreadable: 1 });
    }
  };
}
