// What a cell and all below it may spend, and have spent.
//
//   A1. At every moment, in every account: spent + uncertain + held ≤ cap. A hold is taken in the cell's own account and
//       in all its ancestors', or in none.
//   A2. A hold waits only while running attempts could make room; else it is refused. Zero is zero.
//   A3. A child's hold leaves its ancestors a floor for their last answer.
import type { Amounts, Cost, Spent } from '#contracts';

export class Account {
  readonly caps: Amounts;
  /** What the owner's next attempt will need; kept free from descendants. */
  floor: Amounts = none;

  #inputTokens = 0;
  #outputTokens = 0;
  #nanoUsd = 0;
  #unpriced = false;
  #steps = 0;
  #spawns = 0;
  #uncertainTokens = 0;
  #uncertainNanoUsd = 0;
  #heldTokens = 0;
  #heldNanoUsd = 0;
  #running = 0;
  #waiting: Waiting[] | null = null;
  /** This account and all above it. */
  readonly #line: readonly Account[];

  constructor(parent: Account | null, caps: Amounts) {
    this.caps = caps;
    this.#line = parent === null ? [this] : [this, ...parent.#line];
  }

  /** True: held. False: refused. A promise: it waits for running attempts. */
  hold(amounts: Amounts): boolean | Promise<boolean> {
    const obstacle = this.#obstacle(amounts);
    if (obstacle === null) return this.#take(amounts);
    if (!obstacle.#mayFitLater(amounts, obstacle === this)) return false;
    return new Promise((resolve) => (obstacle.#waiting ??= []).push({ account: this, amounts, resolve }));
  }

  /** Gives a hold back: what it cost, or, when that is not known, the hold as uncertain. */
  settle(hold: Amounts, cost: Cost | null): void {
    for (const account of this.#line) {
      account.#heldTokens -= hold.tokens ?? 0;
      account.#heldNanoUsd -= hold.nanoUsd ?? 0;
      account.#running--;
      if (cost === null) account.#doubt(hold);
      else account.#spend(cost);
    }
    for (const account of this.#line) account.#wake();
  }

  /** On resume: a cost or a doubt that the log holds. */
  load(cost: Cost | null, uncertain: Amounts | undefined): void {
    for (const account of this.#line) {
      if (cost !== null) account.#spend(cost);
      if (uncertain !== undefined) account.#doubt(uncertain);
    }
  }

  countStep(): void {
    for (const account of this.#line) account.#steps++;
  }

  canSpawn(): boolean {
    for (const account of this.#line)
      if (account.caps.spawns !== undefined && account.#spawns >= account.caps.spawns) return false;
    return true;
  }

  countSpawn(): void {
    for (const account of this.#line) account.#spawns++;
  }

  spent(ms: number): Spent {
    return {
      inputTokens: this.#inputTokens,
      outputTokens: this.#outputTokens,
      usd: this.#unpriced ? null : this.#nanoUsd / 1e9,
      ms,
      steps: this.#steps,
      spawns: this.#spawns,
      uncertain: this.#uncertainTokens,
    };
  }

  #take(amounts: Amounts): true {
    for (const account of this.#line) {
      account.#heldTokens += amounts.tokens ?? 0;
      account.#heldNanoUsd += amounts.nanoUsd ?? 0;
      account.#running++;
    }
    return true;
  }

  /** The first account, from here up, that has no room. */
  #obstacle(amounts: Amounts): Account | null {
    for (const account of this.#line)
      if (!account.#fits(amounts, account === this, account.#heldTokens, account.#heldNanoUsd)) return account;
    return null;
  }

  #mayFitLater(amounts: Amounts, own: boolean): boolean {
    return this.#running > 0 && this.#fits(amounts, own, 0, 0);
  }

  #fits(amounts: Amounts, own: boolean, heldTokens: number, heldNanoUsd: number): boolean {
    const { tokens, nanoUsd } = this.caps;
    const floor = own ? none : this.floor;
    if (tokens !== undefined) {
      const used = this.#inputTokens + this.#outputTokens + this.#uncertainTokens + heldTokens;
      if (used + (amounts.tokens ?? 0) + (floor.tokens ?? 0) > tokens) return false;
    }
    if (nanoUsd !== undefined) {
      const used = this.#nanoUsd + this.#uncertainNanoUsd + heldNanoUsd;
      if (used + (amounts.nanoUsd ?? 0) + (floor.nanoUsd ?? 0) > nanoUsd) return false;
    }
    return true;
  }

  #spend(cost: Cost): void {
    this.#inputTokens += cost.usage.inputTokens;
    this.#outputTokens += cost.usage.outputTokens;
    if (cost.nanoUsd === null) this.#unpriced = true;
    else this.#nanoUsd += cost.nanoUsd;
  }

  #doubt(hold: Amounts): void {
    this.#uncertainTokens += hold.tokens ?? 0;
    this.#uncertainNanoUsd += hold.nanoUsd ?? 0;
  }

  /** Those who wait ask again, in order; one that can never fit now is refused. */
  #wake(): void {
    const waiting = this.#waiting;
    if (waiting === null) return;
    this.#waiting = null;
    for (const one of waiting) {
      const obstacle = one.account.#obstacle(one.amounts);
      if (obstacle === null) one.resolve(one.account.#take(one.amounts));
      else if (obstacle.#mayFitLater(one.amounts, obstacle === one.account)) (obstacle.#waiting ??= []).push(one);
      else one.resolve(false);
    }
  }
}

const none: Amounts = {};

type Waiting = { readonly account: Account; readonly amounts: Amounts; resolve(held: boolean): void };
