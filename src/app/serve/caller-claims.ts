// What the runs of a caller use at the same time, on all servers of a workspace: one shared value for each caller that has such limits.
//
//   claims-counted-once. A change is decided from the value that it replaces: if another server was faster, it is decided again.
//   claims-end-with-process. A claim of a process that is not there any more does not count, and what was spent is then counted again
//       from the runs. The claims of this process are those that it knows, so a release that could not be written comes with the next one.
import { CloisterError, isObject, sha256 } from '#base';
import type { Json, JsonObject } from '#base';
import type { Clock, SharedState } from '#contracts';

/** Money in whole billionths, so that a returned reservation is exact. */
export type AllowanceAmounts = { readonly tokens: number; readonly nanoUsd: number };

/** In the period that began then, in epoch milliseconds. */
export type Spending = AllowanceAmounts & { readonly since: number };

/** What a run holds: a slot, or a reservation. */
type Claim = Spending & { readonly id: string; readonly process: string; readonly slots: number };

type CallerUse = {
  /** By runs that have ended. Null: it must be counted from the runs. */
  readonly spent: Spending | null;
  /** By runs that are running. */
  readonly reserved: readonly Spending[];
  readonly slots: number;
};

/** `charge`: what the run used of its reservation, in the period of `since`. `recount`: count from the runs what was spent. */
export type ReleaseClaim = (end?: { readonly charge?: Spending; readonly recount?: boolean }) => void;

/** A slot; or a reservation, with what was spent before it. */
type NewClaim = 'slot' | { readonly reserved: Spending; readonly spent: Spending };

/** Undefined: nothing is claimed. May be called several times. */
type Decide = (use: CallerUse) => NewClaim | undefined | Promise<NewClaim | undefined>;

type CallerState = {
  /** Of this process. */
  readonly own: Map<string, Claim>;
  readonly charges: Spending[];
  isRecounted: boolean;
  last: Promise<unknown>;
};

export const addAmounts = (one: AllowanceAmounts, other: AllowanceAmounts): AllowanceAmounts => ({
  tokens: one.tokens + other.tokens,
  nanoUsd: one.nanoUsd + other.nanoUsd,
});

export class CallerClaims {
  readonly #shared: SharedState;
  readonly #clock: Pick<Clock, 'timer'>;
  readonly #callers = new Map<string, CallerState>();
  #claims = 0;

  constructor(shared: SharedState, clock: Pick<Clock, 'timer'>) {
    this.#shared = shared;
    this.#clock = clock;
  }

  /** Rejects with what `decide` throws. Null: it claims nothing. */
  claim(caller: string, decide: Decide): Promise<ReleaseClaim | null> {
    return this.#inTurn(caller, (state) => this.#write(caller, state, decide));
  }

  /** Without a claim. */
  async read(caller: string): Promise<CallerUse> {
    const { value } = await this.#shared.readShared(keyOf(caller));
    return useOf(await this.#live(value, this.#stateOf(caller)));
  }

  /** Resolves when everything that was released so far is written, or could not be. */
  async idle(): Promise<void> {
    await Promise.all([...this.#callers.values()].map(({ last }) => last.catch(() => undefined)));
  }

  #stateOf(caller: string): CallerState {
    const known = this.#callers.get(caller);
    if (known !== undefined) return known;
    const state = { own: new Map<string, Claim>(), charges: [], isRecounted: false, last: Promise.resolve() };
    this.#callers.set(caller, state);
    return state;
  }

  /** One change after the other, so that only servers compete. */
  #inTurn<T>(caller: string, act: (state: CallerState) => Promise<T>): Promise<T> {
    const state = this.#stateOf(caller);
    const result = state.last.then(
      () => act(state),
      () => act(state),
    );
    state.last = result;
    result.catch(() => undefined);
    return result;
  }

  /** Without `decide`, only what has changed here is written. */
  async #write(caller: string, state: CallerState, decide: Decide | null): Promise<ReleaseClaim | null> {
    const { instance: process } = this.#shared;
    for (let tries = 0; tries < triesMax; tries++) {
      const { value, version } = await this.#shared.readShared(keyOf(caller));
      const now = await this.#live(value, state);
      const charges = [...state.charges];
      const wanted = decide === null ? undefined : await decide(useOf(now));
      if (decide !== null && wanted === undefined) return null;
      const { reserved = nothing, spent = now.spent } = typeof wanted === 'object' ? wanted : {};
      const claim = { ...reserved, id: `${process} ${this.#claims++}`, process, slots: wanted === 'slot' ? 1 : 0 };
      const claims = wanted === undefined ? now.claims : [...now.claims, claim];
      if (await this.#shared.writeShared(keyOf(caller), { spent, claims }, version)) {
        state.charges.splice(0, charges.length);
        state.isRecounted = true;
        if (wanted === undefined) return null;
        state.own.set(claim.id, claim);
        return (end) => this.#release(caller, claim, end);
      }
      await this.#pause(jitterMs(`${process} ${caller} ${tries}`));
    }
    throw new CloisterError('store_busy', 'Other servers change what this caller uses all the time.');
  }

  #release(caller: string, { id }: Claim, { charge, recount = false }: Parameters<ReleaseClaim>[0] = {}): void {
    const state = this.#stateOf(caller);
    if (!state.own.delete(id)) return;
    if (charge !== undefined) state.charges.push(charge);
    if (recount) state.isRecounted = false;
    this.#flush(caller, 0);
  }

  #flush(caller: string, tries: number): void {
    this.#inTurn(caller, (state) => this.#write(caller, state, null)).catch(() => {
      if (tries < flushesMax) this.#clock.timer(flushMs, () => this.#flush(caller, tries + 1));
    });
  }

  /** What is recorded, without what does not count any more, and with what this process knows. */
  async #live(value: JsonObject | null, { own, charges, isRecounted }: CallerState): Promise<SharedUse> {
    const { spent, claims } = readUse(value);
    const { instance } = this.#shared;
    const others = claims.filter(({ process }) => process !== instance);
    const gone = new Set<string>();
    for (const process of new Set(others.map((one) => one.process)))
      if (!(await this.#shared.isLive(process))) gone.add(process);
    const live = others.filter(({ process }) => !gone.has(process));
    const isKnown = gone.size === 0 && isRecounted && spent !== null;
    const charged = charges.reduce(
      (sum, one) => (one.since === sum?.since ? { ...addAmounts(sum, one), since: one.since } : sum),
      spent,
    );
    return { spent: isKnown ? charged : null, claims: [...live, ...own.values()] };
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.timer(ms, resolve));
  }
}

type SharedUse = { readonly spent: Spending | null; readonly claims: readonly Claim[] };

const useOf = ({ spent, claims }: SharedUse): CallerUse => ({
  spent,
  reserved: claims,
  slots: claims.reduce((sum, one) => sum + one.slots, 0),
});

const nothing: Spending = { since: 0, tokens: 0, nanoUsd: 0 };

/** Names of callers may be long. */
const keyOf = (caller: string): string => `caller ${sha256(caller).slice(0, 32)}`;

/** What another build has written in another form counts as nothing. */
const readUse = (value: JsonObject | null): SharedUse => {
  const claims = Array.isArray(value?.['claims']) ? value['claims'].flatMap(readClaim) : [];
  const spent = value?.['spent'];
  const isSpending = isObject(spent) && areNumbers(spent['since'], spent['tokens'], spent['nanoUsd']);
  return { spent: isSpending ? (spent as unknown as Spending) : null, claims };
};

const readClaim = (value: Json): readonly Claim[] =>
  isObject(value) &&
  typeof value['process'] === 'string' &&
  areNumbers(value['since'], value['tokens'], value['nanoUsd'], value['slots'])
    ? [value as unknown as Claim]
    : [];

const areNumbers = (...values: readonly unknown[]): boolean => values.every((one) => typeof one === 'number');

/** Another one for each process, so that two servers that were in each other's way do not meet again. */
const jitterMs = (of: string): number => Number.parseInt(sha256(of).slice(0, 4), 16) % jitterMax;

const [triesMax, jitterMax, flushesMax, flushMs] = [200, 20, 10, 1_000];
