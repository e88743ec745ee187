// What a cell and its descendants may spend, and what they have spent.
//
//   A1. At every moment, in every account: spent + uncertain + held ≤ cap. A hold is taken in the cell's own account and
//       in all of its ancestors', or in none.
//   A2. A hold waits only while running attempts could make room; otherwise it is refused. A cap of zero allows nothing.
//   A3. A child's hold leaves its ancestors a floor, so that they can still give a last answer.
//   A4. Memory is a level, not a sum: what a cell holds now counts in every account above it, until the cell ends.
import type { Amounts, Cost, Spent } from '#contracts';
import type { BudgetShortage } from './budget-shortage.ts';

export class Account {
  readonly caps: Amounts;
  /** What the owner's newest attempt held. Descendants leave this much free for the owner's next attempt. */
  floor: Amounts = noAmounts;

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
  #totalMemoryBytes = 0;
  #ownMemoryBytes = 0;
  #running = 0;
  #waiting: HoldRequest[] | null = null;
  /** This account, then its ancestors up to the root. */
  readonly #selfAndAncestors: readonly Account[];

  constructor(parent: Account | null, caps: Amounts) {
    this.caps = caps;
    this.#selfAndAncestors = parent === null ? [this] : [this, ...parent.#selfAndAncestors];
  }

  /** Its caps, then those of each account above it. */
  get capsUpwards(): readonly Amounts[] {
    return this.#selfAndAncestors.map(({ caps }) => caps);
  }

  /** True: held. False: refused. Otherwise it waits, and `later` is called once attempts have made room or no longer can. */
  hold(amounts: Amounts, later: (held: boolean) => void): boolean | WaitingHold {
    const request: HoldRequest = { account: this, amounts, later, waitsAt: null };
    return this.#decideHold(request) ?? { withdraw: () => Account.#withdraw(request) };
  }

  /** Why there is no room for these amounts, even if no attempt were running; null: there is. */
  shortage(amounts: Amounts): BudgetShortage | null {
    const floor = { tokens: 0, nanoUsd: 0 };
    for (const [index, account] of this.#selfAndAncestors.entries()) {
      if (account !== this) {
        floor.tokens += account.floor.tokens ?? 0;
        floor.nanoUsd += account.floor.nanoUsd ?? 0;
      }
      const whose = index === this.#selfAndAncestors.length - 1 ? 'run' : index === 0 ? 'own' : 'caller';
      for (const unit of ['tokens', 'nanoUsd'] as const) {
        const [cap, needed, kept] = [account.caps[unit], amounts[unit] ?? 0, floor[unit]];
        if (cap === undefined) continue;
        const left = cap - account.#used(unit);
        if (needed + kept > left) return { unit, needed, left, cap, kept, whose };
      }
      const { bytes: cap } = account.caps;
      const more = (amounts.bytes ?? 0) - this.#ownMemoryBytes;
      if (cap !== undefined && account.memoryBytes + more > cap)
        return { unit: 'bytes', needed: more, left: cap - account.memoryBytes, cap, kept: 0, whose };
    }
    return null;
  }

  #used(unit: 'tokens' | 'nanoUsd'): number {
    return unit === 'tokens'
      ? this.#inputTokens + this.#outputTokens + this.#uncertainTokens
      : this.#nanoUsd + this.#uncertainNanoUsd;
  }

  /** A withdrawn request makes no room, so no other one is retried. */
  static #withdraw(request: HoldRequest): void {
    const { waitsAt } = request;
    request.waitsAt = null;
    if (waitsAt !== null) waitsAt.#waiting = waitsAt.#waiting?.filter((one) => one !== request) ?? null;
  }

  /** Releases a hold and counts its cost. If the cost is unknown, the whole hold counts as uncertain. */
  settle(hold: Amounts, cost: Cost | null): void {
    for (const account of this.#selfAndAncestors) {
      account.#heldTokens -= hold.tokens ?? 0;
      account.#heldNanoUsd -= hold.nanoUsd ?? 0;
      account.#running--;
      // probe: account-settle-hold
      if (cost === null) account.#addUncertain(hold);
      else account.#spend(cost);
    }
    for (const account of this.#selfAndAncestors) account.#retryWaiting();
  }

  /** On resume: adds a cost or an uncertain amount from the log. */
  load(cost: Cost | null, uncertain: Amounts | undefined): void {
    for (const account of this.#selfAndAncestors) {
      if (cost !== null) account.#spend(cost);
      if (uncertain !== undefined) account.#addUncertain(uncertain);
    }
  }

  /** Whether this account or one above it caps memory. If not, there is no need to measure it. */
  get tracksMemory(): boolean {
    return this.#selfAndAncestors.some(({ caps }) => caps.bytes !== undefined);
  }

  /** Sets what the cell itself holds in memory. False: this account or one above has no room, and nothing changes. */
  setMemoryBytes(bytes: number): boolean {
    const more = bytes - this.#ownMemoryBytes;
    for (const { caps, memoryBytes } of this.#selfAndAncestors)
      if (more > 0 && caps.bytes !== undefined && memoryBytes + more > caps.bytes) return false;
    this.#ownMemoryBytes = bytes;
    for (const account of this.#selfAndAncestors) account.#totalMemoryBytes += more;
    return true;
  }

  /** What the cell and its descendants hold in memory. */
  get memoryBytes(): number {
    return this.#totalMemoryBytes;
  }

  /** The owner will make no more requests, so its descendants leave nothing free for it. */
  releaseFloor(): void {
    this.floor = noAmounts;
    for (const account of this.#selfAndAncestors) account.#retryWaiting();
  }

  countStep(): void {
    for (const account of this.#selfAndAncestors) account.#steps++;
  }

  /** `reserve`: how many spawns must remain afterwards. */
  canSpawn(reserve = 0): boolean {
    for (const account of this.#selfAndAncestors)
      // probe: account-spawns-left
      if (account.caps.spawns !== undefined && account.#spawns + reserve >= account.caps.spawns) return false;
    return true;
  }

  countSpawn(): void {
    for (const account of this.#selfAndAncestors) account.#spawns++;
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

  #addHold(amounts: Amounts): true {
    // probe: account-take-hold
    for (const account of this.#selfAndAncestors) {
      account.#heldTokens += amounts.tokens ?? 0;
      account.#heldNanoUsd += amounts.nanoUsd ?? 0;
      account.#running++;
    }
    return true;
  }

  /** Null: the request waits. */
  #decideHold(request: HoldRequest): boolean | null {
    const { amounts } = request;
    if (!isAmount(amounts.tokens) || !isAmount(amounts.nanoUsd)) return false;
    const obstacle = this.#obstacle(amounts);
    if (obstacle === null) return this.#addHold(amounts);
    if (!obstacle.account.#mayFitLater(amounts, obstacle.floor)) return false;
    request.waitsAt = obstacle.account;
    (obstacle.account.#waiting ??= []).push(request);
    return null;
  }

  /** The first account without room, from here up, and what must stay free there. */
  #obstacle(amounts: Amounts): { readonly account: Account; readonly floor: Required<Floor> } | null {
    const floor = { tokens: 0, nanoUsd: 0 };
    for (const account of this.#selfAndAncestors) {
      if (account !== this) {
        // For its own last answer, and for those of the accounts between it and the requesting one.
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
      const used = this.#used('tokens') + heldTokens;
      if (used + (amounts.tokens ?? 0) + floor.tokens > tokens) return false;
    }
    if (nanoUsd !== undefined) {
      const used = this.#used('nanoUsd') + heldNanoUsd;
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

  #addUncertain(hold: Amounts): void {
    // The hold had no price, so the cost is unknown, and it is certainly not zero.
    if (hold.nanoUsd === undefined && (hold.tokens ?? 0) > 0) this.#unpriced = true;
    this.#uncertainTokens += hold.tokens ?? 0;
    this.#uncertainNanoUsd += hold.nanoUsd ?? 0;
  }

  /** Retries waiting holds in order. A hold that can no longer fit is refused. */
  #retryWaiting(): void {
    const waiting = this.#waiting;
    if (waiting === null) return;
    this.#waiting = null;
    for (const request of waiting) {
      // An answer to another request may have withdrawn it.
      if (request.waitsAt === null) continue;
      request.waitsAt = null;
      const held = request.account.#decideHold(request);
      if (held !== null) request.later(held);
    }
  }
}

const noAmounts: Amounts = {};

/** An amount that is not a finite number cannot bound anything. */
const isAmount = (value: number | undefined): boolean => value === undefined || (Number.isFinite(value) && value >= 0);

type Floor = Pick<Amounts, 'tokens' | 'nanoUsd'>;

type HoldRequest = {
  readonly account: Account;
  readonly amounts: Amounts;
  readonly later: (held: boolean) => void;
  /** The account that has no room for it, while it waits. */
  waitsAt: Account | null;
};

/** A hold that waits for room. Whoever no longer needs it must withdraw it. */
export type WaitingHold = { withdraw(): void };

/** The cost of a request that was refused before it was processed. */
export const noCost: Cost = {
  usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
  nanoUsd: 0,
};
