// What a cell and its descendants may spend, and what they have spent.
//
//   account-never-over-cap. At every moment, in every account: spent + uncertain + held ≤ cap. A hold is taken in the cell's
//       own account and in all of its ancestors', or in none.
//   account-waits-for-running. A hold waits only while running attempts could make room; otherwise it is refused. A cap of
//       zero allows nothing.
//   account-leaves-floor. A child's hold leaves its ancestors a floor, so that they can still give a last answer.
//   account-memory-is-a-level. Not a sum: what a cell holds now counts in every account above it, until the cell ends.
import type { Amounts, Cost, Spent } from '#contracts';
import type { BudgetShortage } from './budget-shortage.ts';
import { CellActivity } from './cell-activity.ts';

export class Account {
  readonly caps: Amounts;
  /** When its cell works, and when it waits for people. */
  readonly activity: CellActivity;
  /** What the owner's newest attempt held. Descendants leave this much free for the owner's next attempt. */
  floor: Amounts = noAmounts;

  #inputTokens = 0;
  #cacheReadTokens = 0;
  #cacheWriteTokens = 0;
  #outputTokens = 0;
  #nanoUsd = 0;
  /** How many amounts had no price. */
  #unpriced = 0;
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
  /** The cell's own attempts that have not settled; usually one. */
  #attempts: Attempt | null = null;
  /** This account, then its ancestors up to the root. */
  readonly #selfAndAncestors: readonly Account[];

  constructor(parent: Account | null, caps: Amounts) {
    this.caps = caps;
    this.activity = new CellActivity(parent?.activity ?? null);
    this.#selfAndAncestors = parent === null ? [this] : [this, ...parent.#selfAndAncestors];
  }

  /** Its caps, then those of each account above it. */
  get capsUpwards(): readonly Amounts[] {
    return this.#selfAndAncestors.map(({ caps }) => caps);
  }

  /**
   * True: it fits. False: refused. Otherwise it waits, and `later` is called once attempts have made room or no longer can. A hold
   * that fits counts from the frame that grants it, which must be written before anyone else asks.
   */
  requestHold(amounts: Amounts, later: (fits: boolean) => void): boolean | WaitingHold {
    const request: HoldRequest = { account: this, amounts, later, waitsAt: null };
    return this.#decideHold(request) ?? { withdraw: () => Account.#withdraw(request) };
  }

  /** An attempt begins; unless it waits, it has its hold. */
  beginAttempt(op: number, hold: Amounts, waits: boolean): void {
    this.floor = hold;
    this.#attempts = { op, hold, state: 'waits', next: this.#attempts };
    if (hold.bytes !== undefined) this.setMemoryBytes(hold.bytes);
    if (!waits) this.#take(this.#attempts);
  }

  /** Its hold was granted after it had begun. */
  grant(op: number): void {
    const attempt = this.#attemptOf(op);
    if (attempt === null) return;
    if (attempt.hold.bytes !== undefined) this.setMemoryBytes(attempt.hold.bytes);
    this.#take(attempt);
  }

  /** It is tried again: what it used is uncertain, and it needs its hold again. */
  abandon(op: number, uncertain: Amounts): void {
    const attempt = this.#attemptOf(op);
    if (attempt?.state !== 'lost') this.#book(undefined, uncertain);
    if (attempt !== null) this.#release(attempt);
  }

  /** Releases its hold and counts its cost, or what is uncertain. Returns this account if that made room. */
  settle(op: number, cost: Cost | undefined, uncertain: Amounts | undefined): Account | undefined {
    const attempt = this.#attemptOf(op);
    const state = attempt?.state;
    if (attempt !== null) {
      // probe: step-give-back-hold
      this.#release(attempt);
      this.#attempts = without(this.#attempts, attempt);
    }
    if (state !== 'lost') this.#book(cost, uncertain);
    return state === 'held' ? this : undefined;
  }

  /** The holds of this account's attempts count as uncertain from now on. */
  loseHolds(): void {
    for (let attempt = this.#attempts; attempt !== null; attempt = attempt.next) {
      if (attempt.state !== 'held') continue;
      this.#release(attempt);
      attempt.state = 'lost';
      // probe: account-load-under-way
      this.#book(undefined, attempt.hold);
    }
  }

  /** As if its attempts had never had their holds. */
  forgetHolds(): void {
    for (let attempt = this.#attempts; attempt !== null; attempt = attempt.next) {
      if (attempt.state === 'lost')
        for (const account of this.#selfAndAncestors) account.#addUncertain(attempt.hold, -1);
      this.#release(attempt);
    }
  }

  /** Whether the process of this attempt died while it had its hold. */
  isLost(op: number): boolean {
    return this.#attemptOf(op)?.state === 'lost';
  }

  #attemptOf(op: number): Attempt | null {
    let attempt = this.#attempts;
    while (attempt !== null && attempt.op !== op) attempt = attempt.next;
    return attempt;
  }

  #take(attempt: Attempt): void {
    if (attempt.state === 'held') return;
    attempt.state = 'held';
    const { tokens = 0, nanoUsd = 0 } = attempt.hold;
    // probe: account-take-hold
    for (const account of this.#selfAndAncestors) {
      account.#heldTokens += tokens;
      account.#heldNanoUsd += nanoUsd;
      account.#running++;
    }
  }

  #release(attempt: Attempt): void {
    const wasHeld = attempt.state === 'held';
    attempt.state = 'waits';
    if (!wasHeld) return;
    for (const account of this.#selfAndAncestors) {
      account.#heldTokens -= attempt.hold.tokens ?? 0;
      account.#heldNanoUsd -= attempt.hold.nanoUsd ?? 0;
      account.#running--;
    }
  }

  #book(cost: Cost | undefined, uncertain: Amounts | undefined): void {
    for (const account of this.#selfAndAncestors) {
      // probe: account-settle-hold
      if (cost === undefined) account.#addUncertain(uncertain ?? noAmounts);
      else account.#spend(cost);
    }
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

  /** Whether this account or one above it caps memory. If not, there is no need to measure it. */
  get tracksMemory(): boolean {
    return this.#selfAndAncestors.some(({ caps }) => caps.bytes !== undefined);
  }

  /** Whether the cell itself may hold this much in memory: false if this account or one above has no room. */
  fitsMemory(bytes: number): boolean {
    const more = bytes - this.#ownMemoryBytes;
    return (
      more <= 0 ||
      this.#selfAndAncestors.every(
        ({ caps, memoryBytes }) => caps.bytes === undefined || memoryBytes + more <= caps.bytes,
      )
    );
  }

  /** Sets what the cell itself holds in memory. If it does not fit, nothing changes. */
  setMemoryBytes(bytes: number): void {
    if (!this.fitsMemory(bytes)) return;
    const more = bytes - this.#ownMemoryBytes;
    this.#ownMemoryBytes = bytes;
    for (const account of this.#selfAndAncestors) account.#totalMemoryBytes += more;
  }

  /** What the cell and its descendants hold in memory. */
  get memoryBytes(): number {
    return this.#totalMemoryBytes;
  }

  /** The owner will make no more requests, so its descendants leave nothing free for it. */
  releaseFloor(): void {
    this.floor = noAmounts;
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
      usd: this.#unpriced > 0 ? null : this.#nanoUsd / 1e9,
      ms,
      steps: this.#steps,
      spawns: this.#spawns,
      uncertain: this.#uncertainTokens,
    });
  }

  /** Null: the request waits. */
  #decideHold(request: HoldRequest): boolean | null {
    const { amounts } = request;
    if (!isAmount(amounts.tokens) || !isAmount(amounts.nanoUsd)) return false;
    const obstacle = this.#obstacle(amounts);
    if (obstacle === null) return true;
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
    if (cost.nanoUsd === null) this.#unpriced++;
    else this.#nanoUsd += cost.nanoUsd;
  }

  #addUncertain({ tokens = 0, nanoUsd }: Amounts, sign: 1 | -1 = 1): void {
    // The hold had no price, so the cost is unknown, and it is certainly not zero.
    if (nanoUsd === undefined && tokens > 0) this.#unpriced += sign;
    this.#uncertainTokens += sign * tokens;
    this.#uncertainNanoUsd += sign * (nanoUsd ?? 0);
  }

  /** There is room: retries the holds that wait in this account and above, in order. One that can no longer fit is refused. */
  retryWaiting(): void {
    for (const account of this.#selfAndAncestors) account.#retryOwnWaiting();
  }

  #retryOwnWaiting(): void {
    const waiting = this.#waiting;
    if (waiting === null) return;
    this.#waiting = null;
    for (const request of waiting) {
      // An answer to another request may have withdrawn it.
      if (request.waitsAt === null) continue;
      request.waitsAt = null;
      const fits = request.account.#decideHold(request);
      if (fits !== null) request.later(fits);
    }
  }
}

const noAmounts: Amounts = {};

/** An amount that is not a finite number cannot bound anything. */
const isAmount = (value: number | undefined): boolean => value === undefined || (Number.isFinite(value) && value >= 0);

type Floor = Pick<Amounts, 'tokens' | 'nanoUsd'>;

type Attempt = {
  readonly op: number;
  readonly hold: Amounts;
  /** `lost`: its process died while it had its hold. */
  state: 'waits' | 'held' | 'lost';
  next: Attempt | null;
};

const without = (attempts: Attempt | null, attempt: Attempt): Attempt | null => {
  if (attempts === attempt) return attempt.next;
  for (let one = attempts; one !== null; one = one.next) if (one.next === attempt) one.next = attempt.next;
  return attempts;
};

type HoldRequest = {
  readonly account: Account;
  readonly amounts: Amounts;
  readonly later: (fits: boolean) => void;
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
