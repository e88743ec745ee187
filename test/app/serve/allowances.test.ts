import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { memoryStore } from '#adapters/stores';
import type { RunId } from '#base';
import { defineAgent, openCloister, openServer, hashToken } from 'cloister';
import type { RunSummary, TokenEntry } from 'cloister';
import { rehearse, virtualClock } from 'cloister/testkit';
import { Allowances } from '../../../src/app/serve/allowances.ts';
import { CallerClaims } from '../../../src/app/serve/caller-claims.ts';
import type { SettleAllowance } from '../../../src/app/serve/allowances.ts';
import { systemClock } from '../../../src/app/system-world.ts';
import { temporaryFolder } from '../../isolation/temporary-folder.ts';
import { Gate } from './gated-agent.ts';
import { postRequest } from './local-requests.ts';

/** Of the only server. */
const newClaims = (): CallerClaims => new CallerClaims(memoryStore(), systemClock);

const hourMs = 3_600_000;
const periods = { hour: hourMs, day: 24 * hourMs, month: 31 * 24 * hourMs };

const spentOf = (tokens: number, usd: number | null) => ({
  inputTokens: tokens,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  usd,
  ms: 0,
  steps: 0,
  spawns: 0,
  uncertain: 0,
});

type Step =
  | { readonly do: 'begin'; readonly part: number; readonly twice: boolean }
  | { readonly do: 'end'; readonly who: number; readonly part: number; readonly known: boolean }
  | { readonly do: 'restart' }
  | { readonly do: 'wait'; readonly part: number };

const part = fc.double({ min: 0, max: 1, noNaN: true });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('begin' as const), part, twice: fc.boolean() }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('end' as const), who: fc.nat(15), part, known: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'restart' as const }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), part }) },
);

type Run = { readonly at: number; readonly most: number; used: number | null; settle: SettleAllowance | null };

describe('an allowance', () => {
  test('in money is charged the whole budget of a run that was cut off, even after a restart', async () => {
    const entry: TokenEntry = { name: 'ann', sha256: '', budget: { usd: 1 }, allowance: { usd: 2, per: 'day' } };
    const runs: RunSummary[] = [];
    const opened = () => new Allowances(Date.now, async () => runs, newClaims());
    const cut = { ...spentOf(0, 0), uncertain: 9_000 };
    const allowances = opened();
    for (let nth = 0; nth < 2; nth++) {
      (await allowances.reserve(entry, { usd: 1 }))(cut);
      runs.push({ startedAt: Date.now(), spent: cut } as RunSummary);
    }
    for (const one of [allowances, opened()])
      await expect(one.reserve(entry, { usd: 1 })).rejects.toMatchObject({ code: 'allowance_used' });
  });

  test.each([
    ['2030-01-31T23:00:00Z', '2030-02-01T00:00:00Z'],
    ['2028-02-10T00:00:00Z', '2028-03-01T00:00:00Z'],
    ['2030-12-01T00:00:00Z', '2031-01-01T00:00:00Z'],
  ])('of a month that is used up at %s is there again at %s', async (now, end) => {
    const entry: TokenEntry = { name: 'ann', sha256: '', allowance: { tokens: 10, per: 'month' } };
    const clock = virtualClock(Date.parse(now));
    const allowances = new Allowances(
      () => clock.now(),
      async () => [],
      newClaims(),
    );
    (await allowances.reserve(entry, { tokens: 10 }))(spentOf(10, 0));
    const left = Date.parse(end) - clock.now();
    const refused = (retryAfterMs: number) => ({ failure: { code: 'allowance_used', retryAfterMs } });
    await expect(allowances.reserve(entry, { tokens: 1 })).rejects.toMatchObject(refused(left));
    await clock.advance(left - 1);
    await expect(allowances.reserve(entry, { tokens: 1 })).rejects.toMatchObject(refused(1));
    await clock.advance(1);
    await expect(allowances.reserve(entry, { tokens: 10 })).resolves.toBeTypeOf('function');
  });

  // invariant: allowance-reserved-whole
  test('is never exceeded by usage plus reservations, even after a restart', () =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom('hour' as const, 'day' as const, 'month' as const),
        fc.array(step, { maxLength: 50, size: 'max' }),
        async (per, steps) => {
          const clock = virtualClock(Date.UTC(2030, 0, 1));
          const entry: TokenEntry = {
            name: 'ann',
            sha256: '',
            budget: { tokens: 300, usd: 3 },
            allowance: { tokens: 1_000, usd: 10, per },
          };
          const runs: Run[] = [];
          const listed = async (_caller: string, since: number): Promise<readonly RunSummary[]> =>
            runs.filter(({ at }) => at >= since).map(summaryOf);
          const open = (): Allowances => new Allowances(() => clock.now(), listed, newClaims());
          let allowances = open();
          const begin = async (most: number): Promise<void> => {
            const settle = await allowances.reserve(entry, { tokens: most, usd: most / 100 }).catch(() => null);
            if (settle !== null) runs.push({ at: clock.now(), most, used: null, settle });
          };
          for (const one of steps) {
            if (one.do === 'begin') {
              const most = Math.floor(one.part * 300);
              await Promise.all(one.twice ? [begin(most), begin(300)] : [begin(most)]);
            } else if (one.do === 'end') {
              const run = runs[one.who];
              if (run?.settle == null) continue;
              run.used = one.known ? Math.floor(one.part * run.most) : null;
              run.settle(run.used === null ? null : spentOf(run.used, run.used / 100));
              // Settles only once.
              run.settle(spentOf(0, 0));
              run.settle = null;
            } else if (one.do === 'wait') await clock.advance(Math.floor(one.part * periods[per]));
            else {
              for (const run of runs) run.settle = null;
              allowances = open();
            }
            for (const since of new Set(runs.map(({ at }) => windowOf(per, at)))) {
              const inIt = runs.filter(({ at }) => windowOf(per, at) === since);
              const together = inIt.reduce((sum, { used, most }) => sum + (used ?? most), 0);
              expect(together).toBeLessThanOrEqual(1_000);
            }
          }
        },
      ),
      { numRuns: 300 },
    ));

  test('is not enlarged by a request that asks for little after a restart', async () => {
    const entry: TokenEntry = {
      name: 'ann',
      sha256: '',
      budget: { tokens: 300 },
      allowance: { tokens: 1_000, per: 'day' },
    };
    // Three interrupted runs: their usage is unknown.
    const runs = [1, 2, 3].map(() => summaryOf({ at: 5, most: 300, used: null, settle: null }));
    const allowances = new Allowances(
      () => 10,
      async () => runs,
      newClaims(),
    );
    const settle = await allowances.reserve(entry, { tokens: 1 });
    // It would fit if nothing was running.
    await expect(allowances.reserve(entry, { tokens: 100 })).rejects.toMatchObject({ code: 'server_busy' });
    settle(spentOf(1, 0));
    await expect(allowances.reserve(entry, { tokens: 100 })).rejects.toMatchObject({ code: 'allowance_used' });
  });

  test('reserved by running requests is reported as such: what they do not use is available again when they end', async () => {
    const entry: TokenEntry = { name: 'ann', sha256: '', budget: { usd: 0.4 }, allowance: { usd: 0.5, per: 'day' } };
    const clock = virtualClock(Date.UTC(2030, 0, 1, 12));
    const allowances = new Allowances(
      () => clock.now(),
      async () => [],
      newClaims(),
    );
    const settle = await allowances.reserve(entry, { usd: 0.4 });
    await expect(allowances.reserve(entry, { usd: 0.4 })).rejects.toMatchObject({
      code: 'server_busy',
      failure: { retryAfterMs: 2_000, detail: expect.stringContaining('reserved') },
    });
    settle(spentOf(10, 0.1));
    const next = await allowances.reserve(entry, { usd: 0.4 });
    next(spentOf(10, 0.2));
    await expect(allowances.reserve(entry, { usd: 0.4 })).rejects.toMatchObject({
      code: 'allowance_used',
      failure: { retryAfterMs: 12 * hourMs },
    });
    await allowances.reserve(entry, { usd: 0.2 });
  });

  test('that could not be counted is counted again with the next request', async () => {
    let broken = true;
    const entry: TokenEntry = { name: 'a', sha256: '', budget: { tokens: 1 }, allowance: { tokens: 1, per: 'hour' } };
    const allowances = new Allowances(
      () => 10,
      async () => {
        if (broken) throw new Error('The disk is away.');
        return [];
      },
      newClaims(),
    );
    await expect(allowances.reserve(entry, { tokens: 1 })).rejects.toThrow('away');
    broken = false;
    (await allowances.reserve(entry, { tokens: 1 }))(null);
    await expect(allowances.reserve(entry, { tokens: 1 })).rejects.toMatchObject({ code: 'allowance_used' });
  });

  // invariant: allowance-from-runs
  test('holds for concurrent requests and after a restart, and is renewed', async () => {
    await using folder = await temporaryFolder();
    const workspace = folder.path;
    const clock = shiftedClock(Date.UTC(2030, 0, 1, 12));
    const tokens = [
      {
        name: 'ann',
        sha256: hashToken('ann'),
        budget: { tokens: 20_000 },
        allowance: { tokens: 100_000, per: 'day' as const },
      },
    ];
    const open = async () => {
      const gate = new Gate();
      const usage = { input: 100, output: 7_900 };
      const model = rehearse([{ reply: { text: 'Yes.', usage, delayMs: 1 } }], {
        clock: { timer: (_ms, due) => gate.hold(due) },
      });
      const limits = { maxOutputTokens: 8_192 };
      const agent = defineAgent({ name: 'yes', description: 'd', prompt: 'p', models: [model], limits });
      const cloister = await openCloister({ agents: [agent], workspace, clock });
      const server = await openServer(cloister, { tokens, clock });
      /** Sends that many concurrent requests: returns how many were accepted, and why others were not. */
      const many = async (count: number): Promise<readonly [number, ...string[]]> => {
        const refused: string[] = [];
        const all = Array.from({ length: count }, async () => {
          const response = await server.fetch(postRequest('/v1/yes', 'ann', { input: 'Go.' }));
          if (response.status === 200) return;
          const { error } = (await response.json()) as { readonly error: { readonly code: string } };
          const mayRetry = error.code === 'server_busy' ? 'true' : 'false';
          expect([response.status, response.headers.get('x-should-retry')]).toEqual([429, mayRetry]);
          refused.push(error.code);
        });
        while (gate.waiting + refused.length < count) await new Promise((resolve) => setImmediate(resolve));
        gate.open({ stay: true });
        await Promise.all(all);
        return [count - refused.length, ...new Set(refused)];
      };
      return { many, close: () => cloister.close() };
    };
    const first = await open();
    // Each reserves 20,000 and uses 8,000.
    expect(await first.many(8)).toEqual([5, 'server_busy']);
    expect(await first.many(8)).toEqual([3, 'server_busy']);
    await first.close();
    const second = await open();
    // 64,000 are used.
    expect(await second.many(8)).toEqual([1, 'server_busy']);
    expect(await second.many(2)).toEqual([1, 'server_busy']);
    expect(await second.many(2)).toEqual([1, 'server_busy']);
    expect(await second.many(2)).toEqual([0, 'allowance_used']);
    clock.jump(12 * hourMs);
    expect(await second.many(8)).toEqual([5, 'server_busy']);
    await second.close();
  });
});

const windowOf = (per: keyof typeof periods, at: number): string =>
  new Date(at).toISOString().slice(0, { hour: 13, day: 10, month: 7 }[per]);

const summaryOf = ({ at, used }: Run): RunSummary => ({
  run: 'run' as RunId,
  agent: 'a',
  goal: '',
  startedAt: at,
  endedAt: used === null ? null : at,
  state: used === null ? 'interrupted' : 'ended',
  status: null,
  cells: 1,
  caller: 'ann',
  recordedBy: null,
  spent: used === null ? null : spentOf(used, used / 100),
  owner: null,
});

/** Real time, at another date. */
const shiftedClock = (start: number) => {
  let shift = start - Date.now();
  return {
    now: () => Date.now() + shift,
    timer: (ms: number, due: () => void) => {
      const timer = setTimeout(due, Math.min(ms, 2 ** 31 - 1));
      return () => clearTimeout(timer);
    },
    jump: (ms: number) => void (shift += ms),
  };
};
