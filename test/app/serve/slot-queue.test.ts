import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defineAgent, hashToken } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { SlotQueue, slotLimitsFor } from '../../../src/app/serve/slot-queue.ts';
import type { ReleaseSlot } from '#testing/app/serve';
import type { SlotLimits } from '../../../src/app/serve/slot-queue.ts';
import { serveAgents } from '../../headends/http/driver.ts';
import { gatedAgent } from './gated-agent.ts';
import { postRequest } from './local-requests.ts';

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

const options: fc.Arbitrary<SlotLimits> = fc.record({
  running: fc.integer({ min: 1, max: 5 }),
  runningPerAgent: fc.integer({ min: 1, max: 5 }),
  waiting: fc.nat(6),
  waitingPerCaller: fc.nat(4),
});

type ModelledRequest = { readonly agent: string; readonly caller: string; state: State };

/** The expected behaviour, recomputed from the start each time. */
class NaiveQueue {
  readonly requests: ModelledRequest[] = [];
  readonly #options: SlotLimits;
  #closed = false;

  constructor(given: SlotLimits) {
    this.#options = given;
  }

  apply(one: Step): void {
    if (one.do === 'enter') this.requests.push({ agent: one.agent, caller: one.caller, state: this.#arriving(one) });
    else if (one.do === 'close') {
      this.#closed = true;
      for (const request of this.requests) if (request.state === 'waiting') request.state = 'server_stopping';
    } else {
      const request = this.requests[one.who];
      if (one.do === 'leave' && request?.state === 'running') request.state = 'left';
      if (one.do === 'abort' && request?.state === 'waiting') request.state = 'cancelled';
    }
    for (const request of this.requests)
      if (request.state === 'waiting' && this.#hasRoom(request)) request.state = 'running';
  }

  #arriving(request: Omit<ModelledRequest, 'state'>): State {
    if (this.#closed) return 'server_stopping';
    if (this.#hasRoom(request)) return 'running';
    const { waiting, waitingPerCaller = Infinity } = this.#options;
    const own = this.#count(({ state, caller }) => state === 'waiting' && caller === request.caller);
    const all = this.#count(({ state }) => state === 'waiting');
    return all < waiting && own < waitingPerCaller ? 'waiting' : 'server_busy';
  }

  #hasRoom({ agent, caller }: Omit<ModelledRequest, 'state'>): boolean {
    const { running, runningPerAgent } = this.#options;
    const under = (of: (request: ModelledRequest) => boolean): number =>
      this.#count((request) => request.state === 'running' && of(request));
    return (
      under(() => true) < running &&
      under((request) => request.agent === agent) < runningPerAgent &&
      under((request) => request.caller === caller) < callerMax[caller]!
    );
  }

  #count(of: (request: ModelledRequest) => boolean): number {
    return this.requests.filter(of).length;
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('slots', () => {
  test('are shared by several callers: one without a limit of its own gets half of them, and half of the queue', () => {
    expect(slotLimitsFor({}, 1)).toMatchObject({ runningPerCaller: 16, waitingPerCaller: 64 });
    expect(slotLimitsFor({ running: 5 }, 2)).toMatchObject({ running: 5, runningPerCaller: 3, waitingPerCaller: 32 });
  });

  // invariants: slot-first-come-first-served, slot-aborted-takes-none
  test('go to the first request that fits its limits, and never exceed the maximum', () =>
    fc.assert(
      fc.asyncProperty(options, fc.array(step, { maxLength: 60, size: 'max' }), async (given, steps) => {
        const slots = new SlotQueue(given);
        const naive = new NaiveQueue(given);
        const requests: { state: State; leave?: ReleaseSlot; readonly going: AbortController }[] = [];
        for (const one of steps) {
          naive.apply(one);
          if (one.do === 'close') slots.close();
          else if (one.do === 'leave') {
            const request = requests[one.who];
            // Releasing twice releases one slot.
            request?.leave?.();
            request?.leave?.();
            if (request?.state === 'running') request.state = 'left';
          } else if (one.do === 'abort') requests[one.who]?.going.abort();
          else if (one.do === 'enter') {
            const request: (typeof requests)[number] = { state: 'waiting', going: new AbortController() };
            requests.push(request);
            const { agent, caller } = one;
            const entered = (async () =>
              slots.acquire({ agent, caller, callerMax: callerMax[caller]! }, request.going.signal))();
            entered.then(
              (leave) => Object.assign(request, { leave, state: 'running' }),
              ({ code }: { code: State }) => (request.state = code),
            );
          }
          await turn();
          expect(requests.map(({ state }) => state)).toEqual(naive.requests.map(({ state }) => state));
          expect(slots.running).toBe(requests.filter(({ state }) => state === 'running').length);
          expect(slots.waiting).toBe(requests.filter(({ state }) => state === 'waiting').length);
        }
      }),
      { numRuns: 300 },
    ));

  test.each([
    [{ running: 0 }, 'slots.running'],
    [{ running: Number.NaN }, 'slots.running'],
    [{ runningPerAgent: -1 }, 'slots.runningPerAgent'],
    [{ waiting: Number.NaN }, 'slots.waiting'],
  ])('%j is refused', (given, field) => {
    expect(() => new SlotQueue({ running: 1, runningPerAgent: 1, waiting: 1, ...given })).toThrow(field);
  });
});

describe('requests', () => {
  test('16 run, 64 wait, and further ones are told when to retry', async () => {
    const { agent, gate } = gatedAgent();
    const { ask } = await serveAgents({ agents: [agent] });
    const refused = Promise.withResolvers<void>();
    let busy = 0;
    const pending = Array.from({ length: 83 }, async () => {
      const response = await ask('/v1/gated', { json: { input: 'Go.' } });
      if (response.status === 429 && ++busy === 3) refused.resolve();
      return response;
    });
    await refused.promise;
    await gate.arrived(16);
    gate.open();
    const responses = await Promise.all(pending);
    expect(gate.maxWaiting).toBe(16);
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(80);
    for (const response of responses.filter(({ status }) => status !== 200)) {
      expect(response.status).toBe(429);
      expect(response.headers.get('retry-after')).toBe('2');
      expect(response.headers.get('x-should-retry')).toBe('true');
      expect(await response.json()).toMatchObject({ error: { code: 'server_busy' } });
    }
  });

  test('of one agent or one token have their own limits', async () => {
    const [first, second] = [gatedAgent('first'), gatedAgent('second')];
    const tokens = [
      { name: 'ann', sha256: hashToken('ann'), running: 1 },
      { name: 'ben', sha256: hashToken('ben') },
    ];
    const { server } = await serveAgents({
      agents: [first.agent, second.agent],
      tokens,
      slots: { running: 4, runningPerAgent: 2, waiting: 10 },
    });
    const ask = (agent: string, token: string) => server.fetch(postRequest(`/v1/${agent}`, token, { input: token }));
    const pending = [ask('first', 'ann'), ask('first', 'ann'), ask('second', 'ann'), ask('first', 'ben')];
    pending.push(ask('first', 'ben'), ask('second', 'ben'));
    await Promise.all([first.gate.arrived(2), second.gate.arrived(1)]);
    expect([first.gate.goals.toSorted(), second.gate.goals]).toEqual([['ann', 'ben'], ['ben']]);
    first.gate.open();
    second.gate.open();
    expect((await Promise.all(pending)).map(({ status }) => status)).toEqual(pending.map(() => 200));
  });

  test('that cannot start take no slot away', async () => {
    const agent = defineAgent({ name: 'yes', description: 'd', prompt: 'p', models: [rehearse([{ reply: 'Yes.' }])] });
    const { ask } = await serveAgents({ agents: [agent], slots: { running: 1, waiting: 0 } });
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

  // invariant: slot-aborted-takes-none
  test('that are abandoned in the queue leave it, and their agent is never asked', async () => {
    const { agent, gate } = gatedAgent();
    const { server, token } = await serveAgents({ agents: [agent], slots: { running: 1, waiting: 1 } });
    const ask = (input: string, signal?: AbortSignal) =>
      server.fetch(postRequest('/v1/gated', token, { input }, signal));
    const first = ask('First.');
    await gate.arrived(1);
    const controller = new AbortController();
    const second = ask('Second.', controller.signal);
    expect((await ask('Third.')).status).toBe(429);
    controller.abort();
    expect((await second).status).toBe(499);
    const fourth = ask('Fourth.');
    expect((await ask('Fifth.')).status).toBe(429);
    gate.open();
    expect([(await first).status, (await fourth).status]).toEqual([200, 200]);
    expect(gate.goals).toEqual(['First.', 'Fourth.']);
  });
});
