import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Lease } from '#testing/adapters/stores';

/** What a store does with the lease of a process, by its own clock. */
class StoredLease {
  #expires = -Infinity;
  #lapses = 0;

  hasLapsed(now: number): boolean {
    return now >= this.#expires;
  }

  renew(now: number): { readonly lapses: number } {
    if (this.hasLapsed(now)) this.#lapses++;
    this.#expires = now + 3000;
    return { lapses: this.#lapses };
  }
}

test('A lease that is renewed each second is valid for as long as that goes on, in one term', () => {
  const [lease, stored] = [new Lease(), new StoredLease()];
  expect(lease.isValid(0)).toBe(false);
  for (let now = 0; now < 20_000; now += 1000) {
    const askedAt = now;
    expect(lease.renewed(askedAt, stored.renew(now + 5), now + 10)).toBe(now === 0);
    expect(lease.standing(1, now + 999)).toBe('owned');
  }
});

// invariant: lease-ends-here-first
test('A lease counts from the moment when it was asked for, however late the answer comes', () => {
  const lease = new Lease();
  const late = 0;
  lease.renewed(late, { lapses: 1 }, 2900);
  expect(lease.standing(1, 2999)).toBe('owned');
  expect(lease.standing(1, 3000)).toBe('lapsed');
});

test('An answer that comes after the lease has lapsed makes nothing valid', () => {
  const lease = new Lease();
  lease.renewed(0, { lapses: 1 }, 10);
  lease.renewed(1000, { lapses: 1 }, 9000);
  expect(lease.standing(lease.term, 9000)).toBe('lapsed');
});

// invariant: lease-lapse-is-a-loss
test('After a lapse here, runs count as owned only once they are confirmed in the new term', () => {
  const lease = new Lease();
  lease.renewed(0, { lapses: 1 }, 10);
  expect(lease.standing(lease.term, 10)).toBe('owned');
  const before = lease.term;
  // The store was slower to let it lapse, and has not noticed.
  expect(lease.renewed(3005, { lapses: 1 }, 3010)).toBe(true);
  expect(lease.standing(before, 3010)).toBe('unconfirmed');
  expect(lease.standing(lease.term, 3010)).toBe('owned');
});

test('A lapse that only the store has noticed begins a new term, even if the answer that told of it was lost', () => {
  const lease = new Lease();
  lease.renewed(0, { lapses: 1 }, 10);
  // The answer to what was asked at 1000 is lost.
  expect(lease.renewed(2000, { lapses: 2 }, 2010)).toBe(true);
  expect(lease.standing(1, 2010)).toBe('unconfirmed');
});

test('Answers that come in another order than they were asked for never shorten a lease', () => {
  const lease = new Lease();
  const [first, second] = [0, 1000];
  lease.renewed(second, { lapses: 1 }, 1010);
  lease.renewed(first, { lapses: 1 }, 1020);
  expect(lease.isValid(3999)).toBe(true);
  expect(lease.term).toBe(1);
});

/** One process, its store, and somebody who takes its run whenever the store allows it. Time is the store's; the process has its own. */
class Race {
  readonly lease = new Lease();
  readonly #stored = new StoredLease();
  readonly #events: { readonly at: number; readonly due: () => void }[] = [];
  readonly #offset: number;
  #now = 0;
  /** By whom the run was acquired last. */
  #owner: 'us' | 'other' = 'us';
  #confirmedIn = 0;
  ownedFor = 0;

  constructor(offset: number) {
    this.#offset = offset;
  }

  get here(): number {
    return this.#now + this.#offset;
  }

  #later(ms: number, due: () => void): void {
    this.#events.push({ at: this.#now + ms, due });
  }

  renew(there: number, back: number | null): void {
    const askedAt = this.here;
    this.#later(there, () => {
      const answer = this.#stored.renew(this.#now);
      if (back !== null) this.#later(back, () => void this.lease.renewed(askedAt, answer, this.here));
    });
  }

  confirm(there: number, back: number): void {
    const { term } = this.lease;
    this.#later(there, () => {
      const isOurs = this.#owner === 'us';
      this.#later(back, () => {
        if (isOurs) this.#confirmedIn = term;
      });
    });
  }

  take(): void {
    if (this.#stored.hasLapsed(this.#now)) this.#owner = 'other';
  }

  /** Acquiring it is asking whose it is, after making it ours. */
  acquire(there: number, back: number): void {
    this.#later(there, () => void (this.#owner = 'us'));
    this.confirm(there, back);
  }

  check(): void {
    if (this.lease.standing(this.#confirmedIn, this.here) !== 'owned') return;
    this.ownedFor++;
    if (this.#owner !== 'us') throw new Error(`At ${this.#now}, somebody else has the run.`);
  }

  pass(ms: number): void {
    const until = this.#now + ms;
    for (;;) {
      const next = this.#events.filter(({ at }) => at <= until).toSorted((one, other) => one.at - other.at)[0];
      if (next === undefined) break;
      this.#events.splice(this.#events.indexOf(next), 1);
      this.#now = next.at;
      this.check();
      next.due();
      this.check();
    }
    this.#now = until;
    this.check();
  }
}

const delay = fc.oneof({ weight: 3, arbitrary: fc.nat(300) }, { weight: 2, arbitrary: fc.nat(4000) });
const move = fc.oneof(
  fc.record({ do: fc.constant('pass' as const), ms: delay }),
  fc.record({ do: fc.constant('renew' as const), there: delay, back: fc.option(delay, { freq: 6 }) }),
  fc.record({ do: fc.constant('confirm' as const), there: delay, back: delay }),
  fc.record({ do: fc.constant('acquire' as const), there: delay, back: delay }),
  fc.record({ do: fc.constant('take' as const) }),
);

test('A process counts a run as its own at no moment at which the store has given it to somebody else', () => {
  let owned = 0;
  fc.assert(
    fc.property(fc.integer({ min: -4_000_000, max: 4_000_000 }), fc.array(move, { maxLength: 60 }), (offset, moves) => {
      const race = new Race(offset);
      race.renew(0, 0);
      race.pass(1);
      race.confirm(0, 0);
      race.pass(1);
      for (const one of moves) {
        if (one.do === 'pass') race.pass(one.ms);
        else if (one.do === 'renew') race.renew(one.there, one.back);
        else if (one.do === 'confirm') race.confirm(one.there, one.back);
        else if (one.do === 'acquire') race.acquire(one.there, one.back);
        else race.take();
        race.check();
      }
      race.pass(20_000);
      owned += race.ownedFor;
    }),
    { numRuns: 2000 },
  );
  expect(owned).toBeGreaterThan(10_000);
});
