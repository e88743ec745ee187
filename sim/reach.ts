// How a process and the world reach each other: it may freeze, so that nothing is delivered to it for a while and then everything at once,
// in the order in which it was due; and it may be cut off from the disk.
import type { World } from './world.ts';

export class Reach {
  readonly #world: World;
  readonly #process: number;
  #isFrozen = false;
  #held: (() => void)[] = [];
  #cutOffUntil = 0;

  constructor(world: World, process: number) {
    this.#world = world;
    this.#process = process;
  }

  get isFrozen(): boolean {
    return this.#isFrozen;
  }

  get isCutOff(): boolean {
    return this.#world.now < this.#cutOffUntil;
  }

  /** Now, or when it is awake again. */
  deliver(due: () => void): void {
    if (this.#isFrozen || this.#held.length > 0) this.#held.push(due);
    else due();
  }

  freeze(ms: number): void {
    this.#isFrozen = true;
    this.#world.frozen.set(this.#process, this);
    this.#world.trace.note(`process ${this.#process} freezes for ${ms} ms`);
    this.#world.scheduler.after(ms, 'thaw', () => this.thaw());
  }

  thaw(): void {
    if (!this.#world.frozen.delete(this.#process)) return;
    this.#world.trace.note(`process ${this.#process} is awake again`);
    this.#isFrozen = false;
    this.#deliverNext();
  }

  /** For a while, nothing gets from it to the disk. */
  cutOff(ms: number): void {
    this.#cutOffUntil = this.#world.now + ms;
    this.#world.trace.note(`process ${this.#process} is cut off for ${ms} ms`);
  }

  /** How much later than usual something gets to the disk or back. */
  delayMs(): number {
    const { plan, leaseRandom: random, faults, now } = this.#world;
    if (plan.leases === null) return 0;
    const lateMs = faults.on && random.chance(plan.leases.late) ? random.log(10, 5_000) : 0;
    return Math.max(lateMs, this.#cutOffUntil - now);
  }

  /** Each is an event of its own, so that promises settle in between. */
  #deliverNext(): void {
    if (this.#isFrozen || this.#held.length === 0) return;
    this.#world.scheduler.after(0, `wake ${this.#process}`, () => {
      if (this.#isFrozen) return;
      this.#held.shift()?.();
      this.#deliverNext();
    });
  }
}
