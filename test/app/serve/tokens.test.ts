import * as crypto from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { defineAgent, hashToken, makeToken } from 'cloister';
import type { Agent, TokenEntry } from 'cloister';
import { rehearse, virtualClock } from 'cloister/testkit';
import { budgetWithin } from '../../../src/app/serve/start-run.ts';
import { checkTokenEntries } from '../../../src/app/serve/check-server-setup.ts';
import { RateLimiter, temporaryTokenEntry, TokenRegistry } from '../../../src/app/serve/token-registry.ts';
import { serveAgents } from '../../headends/http/driver.ts';
import { getRequest, postRequest } from './local-requests.ts';

vi.mock('node:crypto', { spy: true });

const agent = (name: string): Agent =>
  defineAgent({
    name,
    description: 'd',
    prompt: 'p',
    models: [rehearse([{ reply: { text: 'Yes.', usage: { input: 40, output: 10 } } }])],
  });

const entry = (name: string, more: Partial<TokenEntry> = {}): TokenEntry => ({
  name,
  sha256: hashToken(`clo_${name}`),
  ...more,
});

describe('a token', () => {
  test.each([
    ['stdio', 'MCP over standard input'],
    ['operator', 'whoever owns the workspace'],
  ])('cannot be named %s: records of who asked and answered mean %s', (name, meaning) => {
    expect(() => checkTokenEntries([entry(name)], [])).toThrow(`"${name}" is reserved for ${meaning}`);
  });

  // invariant: token-check-takes-equal-time
  test('is compared once, in full, whether it is the first, the last, an expired one or none', () => {
    const entries = Array.from({ length: 20 }, (_, place) => entry(`t${place}`, place === 7 ? { expiresAt: 5 } : {}));
    const book = new TokenRegistry(entries, () => 10);
    const compare = vi.mocked(crypto.timingSafeEqual);
    const holders = ['clo_t0', 'clo_t19', 'clo_t7', 'clo_nobody', '', 'x'.repeat(10_000)].map((token) => {
      compare.mockClear();
      const holder = book.findCaller(token);
      if (holder !== undefined) expect(Object.keys(holder)).toEqual(['name', 'sees']);
      expect(compare.mock.calls.map((pair) => pair.map(({ byteLength }) => byteLength))).toEqual([[64, 64]]);
      return holder?.name;
    });
    expect(holders).toEqual(['t0', 't19', undefined, undefined, undefined, undefined]);
  });

  test('answers for the agents that its entry lists, unless it has expired or may only watch', () => {
    const entries = [
      entry('ann'),
      entry('ops', { answers: ['mailer', 'writer'] }),
      entry('all', { answers: ['*'] }),
      entry('old', { answers: ['*'], expiresAt: 5 }),
      // Refused when it is read; the registry does not rely on that.
      entry('glass', { answers: ['*'], may: ['watch'], operator: true }),
    ];
    const registry = new TokenRegistry(entries, () => 10);
    const answers = (name: string) =>
      ['mailer', 'lead'].map((asking) => registry.mayAnswer({ name, sees: 'answers' }, asking));
    expect(['ann', 'ops', 'all', 'old', 'glass', 'glass (watch)', 'nobody'].map(answers)).toEqual([
      [false, false],
      [true, false],
      [true, true],
      ...Array.from({ length: 4 }, () => [false, false]),
    ]);
    expect(() => checkTokenEntries(entries.slice(4), [])).toThrow('may only watch, so it answers no questions');
    expect(() => checkTokenEntries(entries.slice(0, 3), ['mailer'])).not.toThrow();
  });

  // invariant: token-stored-as-hash
  test('is random, and only its hash is kept', () => {
    const [one, other] = [makeToken(), makeToken()];
    expect(one).toMatch(/^clo_[\w-]{43}$/u);
    expect(one).not.toBe(other);
    expect(JSON.stringify(temporaryTokenEntry(one))).not.toContain(one.slice(4));
  });

  test('is refused once it has expired, even where it was accepted before', async () => {
    const clock = virtualClock(1_000);
    const book = new TokenRegistry([entry('ann', { expiresAt: 2_000 })], () => clock.now());
    expect([book.findCaller('clo_ann')?.name, book.entry({ name: 'ann' })?.name]).toEqual(['ann', 'ann']);
    await clock.advance(999);
    expect(book.findCaller('clo_ann')?.name).toBe('ann');
    await clock.advance(1);
    expect([book.findCaller('clo_ann'), book.entry({ name: 'ann' })]).toEqual([undefined, undefined]);
    const tokens = [entry('ann', { expiresAt: 2_000 })];
    const { server } = await serveAgents({ agents: [agent('yes')], tokens, clock });
    const response = await server.fetch(getRequest('/v1', 'clo_ann'));
    expect([response.status, await response.json()]).toMatchObject([401, { error: { code: 'token_refused' } }]);
  });

  // invariant: service-others-unknown
  test('reaches its own agents; others are as unknown as those that do not exist', async () => {
    const tokens = [entry('ann', { agents: ['one'] }), entry('ben')];
    const { server } = await serveAgents({ agents: [agent('one'), agent('hidden')], tokens });
    const post = async (path: string, token: string) => {
      const response = await server.fetch(postRequest(path, token, { input: 'Go.' }));
      return [response.status, await response.text()];
    };
    // Except for the requested name.
    const [status, text] = await post('/v1/hidden', 'clo_ann');
    expect([status, String(text).replace('hidden', 'nobody')]).toEqual(await post('/v1/nobody', 'clo_ann'));
    expect((await post('/v1/hidden', 'clo_ann'))[0]).toBe(404);
    expect((await post('/v1/hidden', 'clo_ben'))[0]).toBe(200);
    const listed = await Promise.all(
      ['/v1', '/v1/models', '/openapi.json'].map(async (path) =>
        (await server.fetch(getRequest(path, 'clo_ann'))).text(),
      ),
    );
    for (const list of listed) expect(list).not.toContain('hidden');
  });
});

describe('a budget', () => {
  const amounts = fc.dictionary(
    fc.constantFrom('tokens', 'usd', 'ms', 'spawns', 'memory'),
    fc.oneof(fc.nat(100), fc.constantFrom(0, 0.5, Infinity)),
  );

  test('never exceeds the token’s, and defaults to the token’s', () =>
    fc.assert(
      fc.property(amounts, amounts, (post, most) => {
        const budget = budgetWithin(post, most) as Record<string, number>;
        expect(Object.keys(budget).sort()).toEqual([...new Set([...Object.keys(post), ...Object.keys(most)])].sort());
        for (const [unit, value] of Object.entries(budget))
          expect(value).toBe(Math.min(post[unit] ?? Infinity, most[unit] ?? Infinity));
      }),
    ));

  test.each([-1, -Infinity, Number.NaN])('of %s is refused before anything is reserved', (value) => {
    expect(() => budgetWithin({ tokens: value }, { tokens: 5 })).toThrow(
      expect.objectContaining({ code: 'budget_invalid' }),
    );
  });

  // invariant: service-request-in-budget
  test('of a client cannot be raised by it', async () => {
    const tokens = [entry('ann', { budget: { tokens: 10 } }), entry('ben')];
    const { server } = await serveAgents({ agents: [agent('yes')], tokens });
    const codeFor = async (token: string, budget: unknown): Promise<unknown> => {
      const response = await server.fetch(
        postRequest('/v1/yes', token, { input: 'Go.', ...(budget === null ? {} : { budget }) }),
      );
      const { error } = (await response.json()) as { error: { code: string } | null };
      return [response.status, error?.code];
    };
    expect(await codeFor('clo_ben', null)).toEqual([200, undefined]);
    for (const budget of [null, {}, { tokens: 1_000_000 }, { tokens: 10 }, { tokens: 0 }, { ms: 1e9, tokens: 1e15 }])
      expect(await codeFor('clo_ann', budget)).toEqual([429, 'budget_refused']);
    expect(await codeFor('clo_ann', { tokens: -5 })).toEqual([400, 'request_invalid']);
  });
});

describe('a rate limit', () => {
  test('allows a burst, then one request per share of a minute, and says when to retry', () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 30 }),
        fc.array(fc.tuple(fc.constantFrom('ann', 'ben'), fc.nat(20_000)), { maxLength: 60, size: 'max' }),
        async (perMinute, visits) => {
          const clock = virtualClock();
          const rates = new RateLimiter(() => clock.now());
          const admitted: Record<string, number> = { ann: 0, ben: 0 };
          for (const [name, afterMs] of visits) {
            await clock.advance(afterMs);
            try {
              rates.consume(name, perMinute);
              admitted[name]! += 1;
            } catch (error) {
              const { code, retryAfterMs } = (error as { failure: { code: string; retryAfterMs: number } }).failure;
              expect(code).toBe('rate_exceeded');
              await clock.advance(retryAfterMs);
              rates.consume(name, perMinute);
              admitted[name]! += 1;
            }
            expect(admitted[name]).toBeLessThanOrEqual(perMinute + (clock.now() * perMinute) / 60_000 + 1e-6);
          }
        },
      ),
      { numRuns: 200 },
    ));

  test('does not accumulate: after a long pause the burst is the same as at the start', async () => {
    const clock = virtualClock();
    const rates = new RateLimiter(() => clock.now());
    for (let visit = 0; visit < 2; visit++) {
      for (let count = 0; count < 5; count++) rates.consume('ann', 5);
      expect(() => rates.consume('ann', 5)).toThrow(expect.objectContaining({ code: 'rate_exceeded' }));
      await clock.advance(3_600_000);
    }
  });

  test('applies to each token separately, and is reported over HTTP', async () => {
    const clock = virtualClock(1_000_000);
    const tokens = [entry('ann', { requestsPerMinute: 2 }), entry('ben', { requestsPerMinute: 2 })];
    const { server } = await serveAgents({ agents: [agent('yes')], tokens, clock });
    const visit = async (token: string): Promise<unknown> => {
      const response = await server.fetch(getRequest('/v1', token));
      return [response.status, response.headers.get('retry-after')];
    };
    expect([await visit('clo_ann'), await visit('clo_ann'), await visit('clo_ann')]).toEqual([
      [200, null],
      [200, null],
      [429, '30'],
    ]);
    expect(await visit('clo_ben')).toEqual([200, null]);
    await clock.advance(30_000);
    expect([await visit('clo_ann'), await visit('clo_ann')]).toEqual([
      [200, null],
      [429, '30'],
    ]);
  });
});

describe('a token file entry', () => {
  test.each<[Partial<TokenEntry>, string]>([
    [{ name: 'a/b' }, 'name'],
    [{ name: 'stdio' }, 'name'],
    [{ sha256: 'abc' }, 'sha256'],
    [{ agents: ['yess'] }, 'tokens[1].agents: "yess" is not one of: yes. Did you mean "yes"?'],
    [{ agents: [] }, 'tokens[1].agents: The list is empty.'],
    [{ running: 0 }, 'running'],
    [{ running: Number.NaN }, 'running'],
    [{ requestsPerMinute: 0 }, 'requestsPerMinute'],
    [{ requestsPerMinute: Number.NaN }, 'requestsPerMinute'],
    [{ expiresAt: Number.NaN }, 'expiresAt'],
    [{ budget: { tokens: -1 } }, 'budget.tokens'],
    [{ budget: { usd: Number.NaN } }, 'budget.usd'],
    [{ allowance: { tokens: 5, per: 'day' } }, 'budget.tokens'],
    [{ allowance: { tokens: Number.NaN, per: 'day' }, budget: { tokens: 1 } }, 'allowance.tokens'],
    [{ allowance: { per: 'week' as 'day' } }, 'allowance.per'],
    [{ allowance: { per: 'day' } }, 'tokens[1].allowance: No limit is set.'],
  ])('%j is refused', (more, words) => {
    expect(() => checkTokenEntries([entry('ok'), entry('ann', more)], ['yes'])).toThrow(words);
  });

  test('that occurs twice is refused', () => {
    expect(() => checkTokenEntries([entry('ann'), { ...entry('ben'), name: 'ann' }], [])).toThrow('is listed twice');
    expect(() => checkTokenEntries([entry('ann'), { ...entry('ann'), name: 'ben' }], [])).toThrow('is listed twice');
  });
});
