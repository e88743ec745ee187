// What a cell and all below it may spend, and have spent.
//
//   A1. At every moment, in every account: spent + uncertain + held ≤ cap. A hold is taken in the cell's own account and
//       in all its ancestors', or in none.
//   A2. A hold waits only while running attempts could make room; else it is refused. Zero is zero.
//   A4. Memory is a level, not a sum: what a cell holds now counts for all above it, and ends with it.
//   A3. A child's hold leaves its ancestors a floor for their last answer.
import type { Amounts, Cost, Spent } from '#contracts';

export class Account {
  readonly caps: Amounts;
  /** What the owner's newest attempt held, for its next one; kept free from descendants. */
  floor: Amounts = none;

  #inputTokens = 0;
  #cacheReadTokens = 0;
  #cacheWriteTokens = 0;
  #outputTokens = 0;
  #nanoUsd = 0;
  #unpriced = false;
  #steps = 0;
  #spawns = 0;
  #uncertainTokens = 0;
  #uncertainNanoUsd = 0;
  #heldTokens = 0;
  #heldNanoUsd = 0;
  #bytes = 0;
  #ownBytes = 0;
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
    let answer: boolean | undefined;
    let resolve = (held: boolean): void => void (answer = held);
    this.request(amounts, (held) => resolve(held));
    return answer ?? new Promise((later) => (resolve = later));
  }

  /** The same with a call back, at once or when running attempts have made room or cannot make it any more. */
  request(amounts: Amounts, answer: (held: boolean) => void): void {
    this.#ask({ account: this, amounts, answer });
  }

  /** Gives a hold back: what it cost, or, when that is not known, the hold as uncertain. */
  settle(hold: Amounts, cost: Cost | null): void {
    for (const account of this.#line) {
      account.#heldTokens -= hold.tokens ?? 0;
      account.#heldNanoUsd -= hold.nanoUsd ?? 0;
      account.#running--;
      // probe: account-settle-hold
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

  /** Whether what its cell holds in memory has to be weighed at all. */
  get weighs(): boolean {
    return this.#line.some(({ caps }) => caps.bytes !== undefined);
  }

  /** What its own cell holds in memory now. False: an account above has no room for it, and it stays as it was. */
  addBytes(bytes: number): boolean {
    const more = bytes - this.#ownBytes;
    for (const { caps, held } of this.#line)
      if (more > 0 && caps.bytes !== undefined && held + more > caps.bytes) return false;
    this.#ownBytes = bytes;
    for (const account of this.#line) account.#bytes += more;
    return true;
  }

  /** What its cell and all below it hold in memory. */
  get held(): number {
    return this.#bytes;
  }

  countStep(): void {
    for (const account of this.#line) account.#steps++;
  }

  /** `keep`: so many must be left after it. */
  canSpawn(keep = 0): boolean {
    for (const account of this.#line)
      // probe: account-spawns-left
      if (account.caps.spawns !== undefined && account.#spawns + keep >= account.caps.spawns) return false;
    return true;
  }

  countSpawn(): void {
    for (const account of this.#line) account.#spawns++;
  }

  spent(ms: number): Spent {
    return Object.freeze({
      inputTokens: this.#inputTokens,
      cacheReadTokens: this.#cacheReadTokens,
      cacheWriteTokens: this.#cacheWriteTokens,
      outputTokens: this.#outputTokens,
      usd: this.#unpriced ? null : this.#nanoUsd / 1e9,
      ms,
      steps: this.#steps,
      spawns: this.#spawns,
      uncertain: this.#uncertainTokens,
    });
  }

  #take(amounts: Amounts): true {
    // probe: account-take-hold
    for (const account of this.#line) {
      account.#heldTokens += amounts.tokens ?? 0;
      account.#heldNanoUsd += amounts.nanoUsd ?? 0;
      account.#running++;
    }
    return true;
  }

  #ask(request: Waiting): void {
    const { account, amounts } = request;
    if (!isAmount(amounts.tokens) || !isAmount(amounts.nanoUsd)) return request.answer(false);
    const obstacle = account.#obstacle(amounts);
    if (obstacle === null) request.answer(account.#take(amounts));
    else if (obstacle.account.#mayFitLater(amounts, obstacle.floor)) (obstacle.account.#waiting ??= []).push(request);
    else request.answer(false);
  }

  /** The first account, from here up, that has no room, and what must stay free there. */
  #obstacle(amounts: Amounts): { readonly account: Account; readonly floor: Required<Floor> } | null {
    const floor = { tokens: 0, nanoUsd: 0 };
    for (const account of this.#line) {
      if (account !== this) {
        // Its own last answer, and those of all between it and the one that asks.
        floor.tokens += account.floor.tokens ?? 0;
        floor.nanoUsd += account.floor.nanoUsd ?? 0;
      }
      if (!account.#fits(amounts, floor, account.#heldTokens, account.#heldNanoUsd)) return { account, floor };
    }
    return null;
  }

  #mayFitLater(amounts: Amounts, floor: Required<Floor>): boolean {
    return this.#running > 0 && this.#fits(amounts, floor, 0, 0);
  }

  #fits(amounts: Amounts, floor: Required<Floor>, heldTokens: number, heldNanoUsd: number): boolean {
    const { tokens, nanoUsd } = this.caps;
    if (tokens !== undefined) {
      const used = this.#inputTokens + this.#outputTokens + this.#uncertainTokens + heldTokens;
      if (used + (amounts.tokens ?? 0) + floor.tokens > tokens) return false;
    }
    if (nanoUsd !== undefined) {
      const used = this.#nanoUsd + this.#uncertainNanoUsd + heldNanoUsd;
      if (used + (amounts.nanoUsd ?? 0) + floor.nanoUsd > nanoUsd) return false;
    }
    return true;
  }

  #spend(cost: Cost): void {
    this.#inputTokens += cost.usage.inputTokens;
    this.#cacheReadTokens += cost.usage.cacheReadTokens;
    this.#cacheWriteTokens += cost.usage.cacheWriteTokens;
    this.#outputTokens += cost.usage.outputTokens;
    if (cost.nanoUsd === null) this.#unpriced = true;
    else this.#nanoUsd += cost.nanoUsd;
  }

  #doubt(hold: Amounts): void {
    // Held without a price: what it cost is not known, and certainly not nothing.
    if (hold.nanoUsd === undefined && (hold.tokens ?? 0) > 0) this.#unpriced = true;
    this.#uncertainTokens += hold.tokens ?? 0;
    this.#uncertainNanoUsd += hold.nanoUsd ?? 0;
  }

  /** Those who wait ask again, in order; one that can never fit now is refused. */
  #wake(): void {
    const waiting = this.#waiting;
    if (waiting === null) return;
    this.#waiting = null;
    for (const one of waiting) this.#ask(one);
  }
}

const none: Amounts = {};

/** What is not a number is no bound. */
const isAmount = (value: number | undefined): boolean => value === undefined || (Number.isFinite(value) && value >= 0);

type Floor = Pick<Amounts, 'tokens' | 'nanoUsd'>;

type Waiting = { readonly account: Account; readonly amounts: Amounts; answer(held: boolean): void };

/** Of what was refused before it was processed. */
export const noCost: Cost = {
  usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
  nanoUsd: 0,
};
