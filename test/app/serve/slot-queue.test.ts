import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defineAgent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { SlotQueue, slotLimitsFor } from '../../../src/app/serve/slot-queue.ts';
import type { ReleaseSlot, SlotQueueOptions } from '../../../src/app/serve/slot-queue.ts';
import { serveAgents } from '../../headends/http/driver.ts';
import { hashToken } from '../../../src/app/serve/token-registry.ts';
import { gatedAgent } from './gated-agent.ts';
import { posted } from './posted.ts';

type Step =
  | { readonly do: 'enter'; readonly agent: string; readonly caller: string }
  | { readonly do: 'leave'; readonly who: number }
  | { readonly do: 'abort'; readonly who: number }
  | { readonly do: 'close' };

type State = 'running' | 'waiting' | 'left' | 'cancelled' | 'server_busy' | 'server_stopping';

const callerMax: Readonly<Record<string, number>> = { ann: 1, ben: 2, eve: Infinity };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('enter' as const),
      agent: fc.constantFrom('one', 'two'),
      caller: fc.constantFrom('ann', 'ben', 'eve'),
    }),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('leave' as const), who: fc.nat(20) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('abort' as const), who: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.constant({ do: 'close' as const }) },
);

const options: fc.Arbitrary<SlotQueueOptions> = fc.record({
  running: fc.integer({ min: 1, max: 5 }),
  runningPerAgent: fc.integer({ min: 1, max: 5 }),
  waiting: fc.nat(6),
  waitingPerCaller: fc.nat(4),
});

type Guest = { readonly agent: string; readonly caller: string; state: State };

/** What should be: looked at from the start each time. */
class Naive {
  readonly guests: Guest[] = [];
  readonly #options: SlotQueueOptions;
  #closed = false;

  constructor(given: SlotQueueOptions) {
    this.#options = given;
  }

  play(one: Step): void {
    if (one.do === 'enter') this.guests.push({ agent: one.agent, caller: one.caller, state: this.#arriving(one) });
    else if (one.do === 'close') {
      this.#closed = true;
      for (const guest of this.guests) if (guest.state === 'waiting') guest.state = 'server_stopping';
    } else {
      const guest = this.guests[one.who];
      if (one.do === 'leave' && guest?.state === 'running') guest.state = 'left';
      if (one.do === 'abort' && guest?.state === 'waiting') guest.state = 'cancelled';
    }
    for (const guest of this.guests) if (guest.state === 'waiting' && this.#hasRoom(guest)) guest.state = 'running';
  }

  #arriving(guest: Omit<Guest, 'state'>): State {
    if (this.#closed) return 'server_stopping';
    if (this.#hasRoom(guest)) return 'running';
    const { waiting, waitingPerCaller = Infinity } = this.#options;
    const own = this.#count(({ state, caller }) => state === 'waiting' && caller === guest.caller);
    const all = this.#count(({ state }) => state === 'waiting');
    return all < waiting && own < waitingPerCaller ? 'waiting' : 'server_busy';
  }

  #hasRoom({ agent, caller }: Omit<Guest, 'state'>): boolean {
    const { running, runningPerAgent } = this.#options;
    const under = (of: (guest: Guest) => boolean): number =>
      this.#count((guest) => guest.state === 'running' && of(guest));
    return (
      under(() => true) < running &&
      under((guest) => guest.agent === agent) < runningPerAgent &&
      under((guest) => guest.caller === caller) < callerMax[caller]!
    );
  }

  #count(of: (guest: Guest) => boolean): number {
    return this.guests.filter(of).length;
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('places', () => {
  test('of several callers, one that does not say has half of them, and of the line', () => {
    expect(slotLimitsFor({}, 1)).toMatchObject({ runningPerCaller: 16, waitingPerCaller: 64 });
    expect(slotLimitsFor({ running: 5 }, 2)).toMatchObject({ running: 5, runningPerCaller: 3, waitingPerCaller: 32 });
  });

  test('are given to the first who has room, and never more of them than there are', () =>
    fc.assert(
      fc.asyncProperty(options, fc.array(step, { maxLength: 60, size: 'max' }), async (given, steps) => {
        const places = new SlotQueue(given);
        const naive = new Naive(given);
        const guests: { state: State; leave?: ReleaseSlot; readonly going: AbortController }[] = [];
        for (const one of steps) {
          naive.play(one);
          if (one.do === 'close') places.close();
          else if (one.do === 'leave') {
            const guest = guests[one.who];
            // Whoever gives it back twice gives back one.
            guest?.leave?.();
            guest?.leave?.();
            if (guest?.state === 'running') guest.state = 'left';
          } else if (one.do === 'abort') guests[one.who]?.going.abort();
          else if (one.do === 'enter') {
            const guest: (typeof guests)[number] = { state: 'waiting', going: new AbortController() };
            guests.push(guest);
            const { agent, caller } = one;
            const entered = (async () =>
              places.acquire({ agent, caller, callerMax: callerMax[caller]! }, guest.going.signal))();
            entered.then(
              (leave) => Object.assign(guest, { leave, state: 'running' }),
              ({ code }: { code: State }) => (guest.state = code),
            );
          }
          await turn();
          expect(guests.map(({ state }) => state)).toEqual(naive.guests.map(({ state }) => state));
          expect(places.running).toBe(guests.filter(({ state }) => state === 'running').length);
          expect(places.waiting).toBe(guests.filter(({ state }) => state === 'waiting').length);
        }
      }),
      { numRuns: 300 },
    ));

  test.each([
    [{ running: 0 }, 'places.running'],
    [{ running: Number.NaN }, 'places.running'],
    [{ runningPerAgent: -1 }, 'places.runningPerAgent'],
    [{ waiting: Number.NaN }, 'places.waiting'],
  ])('%j is refused', (given, field) => {
    expect(() => new SlotQueue({ running: 1, runningPerAgent: 1, waiting: 1, ...given })).toThrow(field);
  });
});

describe('requests', () => {
  test('16 are worked on, 64 wait, and more are told when to come again', async () => {
    const { agent, gate } = gatedAgent();
    const { ask } = await serveAgents({ agents: [agent] });
    const refused = Promise.withResolvers<void>();
    let busy = 0;
    const asked = Array.from({ length: 83 }, async () => {
      const response = await ask('/v1/gated', { json: { input: 'Go.' } });
      if (response.status === 429 && ++busy === 3) refused.resolve();
      return response;
    });
    await refused.promise;
    await gate.arrived(16);
    gate.open();
    const responses = await Promise.all(asked);
    expect(gate.most).toBe(16);
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(80);
    for (const response of responses.filter(({ status }) => status !== 200)) {
      expect(response.status).toBe(429);
      expect(response.headers.get('retry-after')).toBe('2');
      expect(response.headers.get('x-should-retry')).toBe('true');
      expect(await response.json()).toMatchObject({ error: { code: 'server_busy' } });
    }
  });

  test('of one agent or of one token are bounded by themselves', async () => {
    const [first, second] = [gatedAgent('first'), gatedAgent('second')];
    const tokens = [
      { name: 'ann', sha256: hashToken('ann'), running: 1 },
      { name: 'ben', sha256: hashToken('ben') },
    ];
    const { server } = await serveAgents({
      agents: [first.agent, second.agent],
      tokens,
      places: { running: 4, runningPerAgent: 2, waiting: 10 },
    });
    const ask = (agent: string, token: string) => server.fetch(posted(`/v1/${agent}`, token, { input: token }));
    const asked = [ask('first', 'ann'), ask('first', 'ann'), ask('second', 'ann'), ask('first', 'ben')];
    asked.push(ask('first', 'ben'), ask('second', 'ben'));
    await Promise.all([first.gate.arrived(2), second.gate.arrived(1)]);
    expect([first.gate.goals, second.gate.goals]).toEqual([['ann', 'ben'], ['ben']]);
    first.gate.open();
    second.gate.open();
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(asked.map(() => 200));
  });

  test('that cannot begin take no place away', async () => {
    const agent = defineAgent({ name: 'yes', description: 'd', prompt: 'p', models: [rehearse([{ reply: 'Yes.' }])] });
    const { ask } = await serveAgents({ agents: [agent], places: { running: 1, waiting: 0 } });
    const wrong = [
      { input: '' },
      { input: 'x', schema: { type: 'nothing' }, format: 'json' },
      { input: 'x', format: 'json' },
      { input: 'x', conversation: 'a'.repeat(200) },
      { input: { unfit: true } },
    ];
    for (const json of [...wrong, ...wrong]) expect((await ask('/v1/yes', { json })).status).toBeLessThan(429);
    expect((await ask('/v1/yes', { json: { input: 'Go.' } })).status).toBe(200);
  });

  test('that are given up in line leave it, and their agent is never asked', async () => {
    const { agent, gate } = gatedAgent();
    const { server, token } = await serveAgents({ agents: [agent], places: { running: 1, waiting: 1 } });
    const ask = (input: string, signal?: AbortSignal) => server.fetch(posted('/v1/gated', token, { input }, signal));
    const first = ask('First.');
    await gate.arrived(1);
    const going = new AbortController();
    const second = ask('Second.', going.signal);
    expect((await ask('Third.')).status).toBe(429);
    going.abort();
    expect((await second).status).toBe(499);
    const fourth = ask('Fourth.');
    expect((await ask('Fifth.')).status).toBe(429);
    gate.open();
    expect([(await first).status, (await fourth).status]).toEqual([200, 200]);
    expect(gate.goals).toEqual(['First.', 'Fourth.']);
  });
});
