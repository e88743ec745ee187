import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Account } from '#core/events';
import type { Amounts, Cost } from '#contracts';

const usage = (tokens: number): Cost['usage'] => ({
  inputTokens: Math.floor(tokens / 2),
  outputTokens: tokens - Math.floor(tokens / 2),
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
});
const cost = ({ tokens = 0, nanoUsd = 0 }: Amounts): Cost => ({ usage: usage(tokens), nanoUsd });
const nothing = cost({});

/** The attempts that have their hold: the number of their operation, by the hold. */
const numbers = new Map<Amounts, number>();

const take = (account: Account, hold: Amounts): void => {
  const { floor } = account;
  const op = numbers.size;
  numbers.set(hold, op);
  account.beginAttempt(op, hold, true);
  account.grant(op);
  account.floor = floor;
};

const settle = (account: Account, hold: Amounts, used: Cost | null): void => {
  const room = account.settle(numbers.get(hold)!, used ?? undefined, used === null ? hold : undefined);
  expect(room).toBe(account);
  room?.retryWaiting();
};

/** True: held. False: refused. A promise: the hold waits. */
const requestHold = (account: Account, requested: Amounts): boolean | Promise<boolean> => {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const answered = (fits: boolean): boolean => {
    if (fits) take(account, requested);
    return fits;
  };
  const answer = account.requestHold(requested, (fits) => resolve(answered(fits)));
  return typeof answer === 'boolean' ? answered(answer) : promise;
};

/** All that a test can see of an account: what is spent, and what is uncertain. */
const figures = (account: Account) => {
  const { inputTokens, outputTokens, usd, uncertain } = account.spent(0);
  return { tokens: inputTokens + outputTokens, nanoUsd: Math.round((usd ?? 0) * 1e9), uncertain };
};

/** The amounts reserved for the last answers of all ancestors of the requesting account, up to this account. */
const floorsUpTo = (line: readonly { floor: Amounts }[], account: { floor: Amounts }) => {
  const between = line.slice(1, line.indexOf(account) + 1);
  const sum = (key: 'tokens' | 'nanoUsd') => between.reduce((total, { floor }) => total + (floor[key] ?? 0), 0);
  return { tokens: sum('tokens'), nanoUsd: sum('nanoUsd') };
};

/** The simplest possible account: plain numbers, every answer computed by adding up. */
class Reference {
  readonly parent: Reference | null;
  readonly caps: Amounts;
  floor: Amounts = {};
  used = { tokens: 0, nanoUsd: 0 };
  held = { tokens: 0, nanoUsd: 0 };
  running = 0;

  constructor(parent: Reference | null, caps: Amounts) {
    this.parent = parent;
    this.caps = caps;
  }

  ancestry(): Reference[] {
    return this.parent === null ? [this] : [this, ...this.parent.ancestry()];
  }

  answer(requested: Amounts): 'held' | 'refused' | 'waits' {
    for (const account of this.ancestry()) {
      const floor = floorsUpTo(this.ancestry(), account);
      const fits = (held: { tokens: number; nanoUsd: number }): boolean =>
        (['tokens', 'nanoUsd'] as const).every(
          (key) =>
            account.caps[key] === undefined ||
            account.used[key] + held[key] + (requested[key] ?? 0) + floor[key] <= account.caps[key],
        );
      if (fits(account.held)) continue;
      return account.running > 0 && fits({ tokens: 0, nanoUsd: 0 }) ? 'waits' : 'refused';
    }
    return 'held';
  }

  take({ tokens = 0, nanoUsd = 0 }: Amounts, sign: 1 | -1): void {
    for (const account of this.ancestry()) {
      account.held.tokens += sign * tokens;
      account.held.nanoUsd += sign * nanoUsd;
      account.running += sign;
    }
  }

  use({ tokens = 0, nanoUsd = 0 }: Amounts): void {
    for (const account of this.ancestry()) {
      account.used.tokens += tokens;
      account.used.nanoUsd += nanoUsd;
    }
  }

  /** `account-never-over-cap`: used plus held is within the cap at this moment. */
  within(): boolean {
    return this.ancestry().every((account) =>
      (['tokens', 'nanoUsd'] as const).every(
        (key) => account.caps[key] === undefined || account.used[key] + account.held[key] <= account.caps[key],
      ),
    );
  }
}

type Attempt = {
  readonly at: number;
  readonly amounts: Amounts;
  state: 'requested' | 'held' | 'refused' | 'over';
  withdraw(): void;
};

/** A tree of accounts and its reference, driven by the same operations. */
class Pair {
  readonly accounts: Account[] = [];
  readonly references: Reference[] = [];
  readonly attempts: Attempt[] = [];
  /** A hold was granted beyond a cap. */
  exceeded = false;

  grow(parent: number | null, caps: Amounts): void {
    this.accounts.push(new Account(parent === null ? null : this.accounts[parent]!, caps));
    this.references.push(new Reference(parent === null ? null : this.references[parent]!, caps));
  }

  hold(at: number, requested: Amounts): void {
    const expected = this.references[at]!.answer(requested);
    const attempt: Attempt = { at, amounts: requested, state: 'requested', withdraw: () => undefined };
    this.attempts.push(attempt);
    const answer = this.accounts[at]!.requestHold(requested, (held) => this.#answered(attempt, held));
    const actual = typeof answer === 'boolean' ? (answer ? 'held' : 'refused') : 'waits';
    if (actual !== expected) throw new Error(`The hold is ${actual}; it should be ${expected}.`);
    if (typeof answer === 'boolean') this.#answered(attempt, answer);
    else attempt.withdraw = () => answer.withdraw();
  }

  /** The step that waits is stopped: from now on its request is as if it had never been made. */
  withdraw(index: number): void {
    const waiting = this.attempts.filter(({ state }) => state === 'requested');
    const attempt = waiting[index % waiting.length];
    if (attempt === undefined) return;
    attempt.state = 'over';
    attempt.withdraw();
  }

  async settle(index: number, how: 'cost' | 'nothing' | 'uncertain', share: number): Promise<void> {
    const running = this.attempts.filter(({ state }) => state === 'held');
    const attempt = running[index % running.length];
    if (attempt === undefined) return;
    attempt.state = 'over';
    const { at, amounts: requested } = attempt;
    const part: Amounts = {
      tokens: Math.floor((requested.tokens ?? 0) * share),
      nanoUsd: Math.floor((requested.nanoUsd ?? 0) * share),
    };
    this.references[at]!.take(requested, -1);
    this.references[at]!.use(how === 'uncertain' ? requested : how === 'cost' ? part : {});
    settle(this.accounts[at]!, requested, how === 'uncertain' ? null : how === 'cost' ? cost(part) : nothing);
    await settled();
  }

  floor(at: number, amounts: Amounts): void {
    this.accounts[at]!.floor = amounts;
    this.references[at]!.floor = amounts;
  }

  check(): void {
    this.references.forEach((reference, index) => {
      const { tokens, nanoUsd, uncertain } = figures(this.accounts[index]!);
      if (!reference.within()) throw new Error(`Account ${index} is over its cap.`);
      if (tokens + uncertain !== reference.used.tokens || nanoUsd > reference.used.nanoUsd)
        throw new Error(`Account ${index} says ${tokens} + ${uncertain} tokens; ${reference.used.tokens} were used.`);
    });
    // `account-waits-for-running`: no hold waits for nothing.
    for (const { state, at } of this.attempts)
      if (state === 'requested' && this.references[at]!.ancestry().every(({ running }) => running === 0))
        throw new Error('A hold waits, and nothing runs.');
    if (this.exceeded) throw new Error('A hold was given beyond a cap.');
  }

  #answered(attempt: Attempt, held: boolean): void {
    const reference = this.references[attempt.at]!;
    if (attempt.state === 'over') throw new Error('A withdrawn request was answered.');
    attempt.state = held ? 'held' : 'refused';
    if (!held) return;
    take(this.accounts[attempt.at]!, attempt.amounts);
    reference.take(attempt.amounts, 1);
    this.exceeded ||= !reference.within();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const amount = fc.integer({ min: 0, max: 120 });
const amounts: fc.Arbitrary<Amounts> = fc.record({ tokens: amount, nanoUsd: amount }, { requiredKeys: [] });
const caps: fc.Arbitrary<Amounts> = fc.record(
  { tokens: fc.integer({ min: 0, max: 300 }), nanoUsd: fc.integer({ min: 0, max: 300 }) },
  { requiredKeys: [] },
);
const move = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('hold' as const), at: fc.nat(20), requested: amounts }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('settle' as const),
      index: fc.nat(50),
      how: fc.constantFrom('cost' as const, 'nothing' as const, 'uncertain' as const),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('withdraw' as const), index: fc.nat(50) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('floor' as const), at: fc.nat(20), amounts }) },
);

// invariants: account-never-over-cap, account-waits-for-running
test('a tree of accounts behaves like a plain list of numbers in any interleaving, and ends with no holds', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ parent: fc.nat(10), caps }), { minLength: 1, maxLength: 8 }),
      fc.array(move, { maxLength: 60 }),
      async (tree, moves) => {
        const pair = new Pair();
        tree.forEach((node, index) => pair.grow(index === 0 ? null : node.parent % index, node.caps));
        for (const one of moves) {
          if (one.do === 'hold') pair.hold(one.at % tree.length, one.requested);
          else if (one.do === 'withdraw') pair.withdraw(one.index);
          else if (one.do === 'floor') pair.floor(one.at % tree.length, one.amounts);
          else await pair.settle(one.index, one.how, one.share);
          await settled();
          pair.check();
        }
        while (pair.attempts.some(({ state }) => state === 'held')) await pair.settle(0, 'nothing', 0);
        expect(pair.attempts.filter(({ state }) => state === 'requested')).toEqual([]);
        expect(pair.references.map(({ running, held }) => [running, held.tokens, held.nanoUsd])).toEqual(
          pair.references.map(() => [0, 0, 0]),
        );
        // The real accounts hold nothing either: whatever is left of a cap can be held immediately.
        pair.references.forEach((reference, index) => {
          const left = (key: 'tokens' | 'nanoUsd'): number =>
            Math.min(
              ...reference
                .ancestry()
                .map((one) => (one.caps[key] ?? Infinity) - one.used[key] - floorsUpTo(reference.ancestry(), one)[key]),
            );
          const all = { tokens: left('tokens'), nanoUsd: left('nanoUsd') };
          if (all.tokens < 0 || all.nanoUsd < 0) return;
          const requested = Object.fromEntries(Object.entries(all).filter(([, value]) => Number.isFinite(value)));
          expect(requestHold(pair.accounts[index]!, requested)).toBe(true);
          settle(pair.accounts[index]!, requested, nothing);
        });
      },
    ),
    { numRuns: 300 },
  ));

// invariant: account-never-over-cap
test('10,000 racing holds never exceed the account at any moment, and no hold is left', async () => {
  const cap = 100_000;
  const root = new Account(null, { tokens: cap, nanoUsd: cap * 5 });
  const children = Array.from({ length: 100 }, (_, index) => new Account(root, { tokens: cap / 10 + index }));
  const grandchildren = children.flatMap((child) => Array.from({ length: 10 }, () => new Account(child, {})));
  let held = 0;
  let spent = 0;
  let most = 0;
  const given = { held: 0, refused: 0, waited: 0 };
  const attempt = async (index: number): Promise<void> => {
    const account = grandchildren[(index * 7) % grandchildren.length]!;
    const tokens = 1 + ((index * 7_919) % 2_000);
    const hold = { tokens, nanoUsd: tokens * 5 };
    const answer = requestHold(account, hold);
    if (typeof answer !== 'boolean') given.waited++;
    if (!(await answer)) return void given.refused++;
    given.held++;
    held += tokens;
    most = Math.max(most, held + spent);
    for (let turns = index % 5; turns > 0; turns--) await Promise.resolve();
    held -= tokens;
    const used = index % 3 === 0 ? null : Math.floor(tokens / 20);
    spent += used ?? tokens;
    settle(account, hold, used === null ? null : cost({ tokens: used, nanoUsd: used * 5 }));
  };
  await Promise.all(Array.from({ length: 10_000 }, (_, index) => attempt(index)));
  expect(given.held + given.refused).toBe(10_000);
  expect(given.held).toBeGreaterThan(100);
  expect(given.waited).toBeGreaterThan(100);
  expect(most).toBeLessThanOrEqual(cap);
  expect(held).toBe(0);
  const { tokens, uncertain } = figures(root);
  expect(tokens + uncertain).toBe(spent);
  expect(requestHold(root, { tokens: cap - spent })).toBe(true);
});

// invariant: account-waits-for-running
test('a hold waits for a running one, and holds are granted in the order requested', async () => {
  const account = new Account(null, { tokens: 10 });
  const holds = [{ tokens: 8 }, { tokens: 6 }, { tokens: 6 }, { tokens: 4 }] as const;
  expect(requestHold(account, holds[0])).toBe(true);
  const order: string[] = [];
  const wait = (name: string, hold: Amounts) =>
    Promise.resolve(requestHold(account, hold)).then((held) => order.push(`${name} ${held ? 'held' : 'refused'}`));
  const waits = [wait('first', holds[1]), wait('second', holds[2]), wait('third', holds[3])];
  await settled();
  expect(order).toEqual([]);
  settle(account, holds[0], nothing);
  await settled();
  expect(order).toEqual(['first held', 'third held']);
  settle(account, holds[1], cost({ tokens: 6 }));
  await settled();
  settle(account, holds[3], nothing);
  await Promise.all(waits);
  expect(order.at(-1)).toBe('second refused');
});

test.for<[title: string, caps: Amounts, hold: Amounts, answer: boolean]>([
  ['no cap, any hold', {}, { tokens: 1e12, nanoUsd: 1e15 }, true],
  ['zero tokens, one token', { tokens: 0 }, { tokens: 1 }, false],
  ['zero tokens, no token', { tokens: 0 }, { tokens: 0 }, true],
  ['zero money, some money', { nanoUsd: 0 }, { tokens: 5, nanoUsd: 1 }, false],
  ['exactly the cap', { tokens: 5, nanoUsd: 7 }, { tokens: 5, nanoUsd: 7 }, true],
  ['one more than the cap', { tokens: 5 }, { tokens: 6 }, false],
])('the first hold never waits: %s', ([, limit, hold, answer]) => {
  const account = new Account(null, limit);
  expect(requestHold(account, hold)).toBe(answer);
  const child = new Account(new Account(null, limit), {});
  expect(requestHold(child, hold)).toBe(answer);
});

test('spawns are counted at every level, and the lowest cap decides', () => {
  const root = new Account(null, { spawns: 3 });
  const [one, two] = [new Account(root, { spawns: 1 }), new Account(root, {})];
  expect(one.canSpawn()).toBe(true);
  one.countSpawn();
  expect([one.canSpawn(), two.canSpawn()]).toEqual([false, true]);
  two.countSpawn();
  two.countSpawn();
  expect(two.canSpawn()).toBe(false);
  expect([root, one, two].map((account) => account.spent(0).spawns)).toEqual([3, 1, 2]);
});

test('one model without a price makes the cost unknown at every level above it', () => {
  const root = new Account(null, {});
  const child = new Account(root, {});
  const hold = { tokens: 5 };
  void requestHold(child, hold);
  settle(child, hold, { usage: usage(5), nanoUsd: null });
  expect([child.spent(0).usd, root.spent(0).usd]).toEqual([null, null]);
  expect(new Account(root, {}).spent(0).usd).toBe(0);
});
