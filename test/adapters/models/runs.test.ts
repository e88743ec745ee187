// Whole runs over real HTTP: how a session handles the vendors' formats.
import { defineAgent, openCloister } from 'cloister';
import type { Budget, Model, RunEvent, RunSession } from 'cloister';
import { afterEach, expect, test } from 'vitest';
import { virtualClock } from '#testkit';
import type { Answer, OpenedModel } from '../../conformance/model.ts';
import { openModel, providers } from './peer.ts';
import type { Provider } from './peer.ts';

const all = Object.entries(providers as Record<string, Provider>);
const opened: OpenedModel[] = [];
afterEach(async () => {
  for (const peer of opened.splice(0)) await peer.close();
});

const open = async (provider: Provider, ...answers: readonly Answer[]): Promise<OpenedModel> => {
  const peer = await openModel(provider, answers);
  opened.push(peer);
  return peer;
};

type RunHooks = { readonly onEvent?: (event: RunEvent, session: RunSession) => void; readonly budget?: Budget };

/** Runs to the end; time passes only where the session waits. The audit must agree with everything recorded. */
const run = async (models: readonly (OpenedModel['model'] | Model)[], { onEvent, budget }: RunHooks = {}) => {
  const clock = virtualClock(1_790_000_000_000);
  const lookedUp: string[] = [];
  const agent = defineAgent({
    name: 'comparer',
    description: 'Compares databases.',
    prompt: 'You compare databases.',
    models: [...models],
    settings: { reasoning: 'low' },
    limits: { maxRetries: 1 },
    tools: [
      {
        name: 'lookup',
        description: 'Looks a name up.',
        inputSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
        execute: (args) => {
          lookedUp.push(args['name'] as string);
          return `${args['name'] as string} was found`;
        },
      },
    ],
  });
  await using cloister = await openCloister({ store: 'memory', agents: [agent], clock });
  const session = cloister.run('comparer', 'Compare SQLite and DuckDB', { ...(budget && { budget }) });
  const events: RunEvent[] = [];
  for await (const event of session) {
    events.push(event);
    onEvent?.(event, session);
    if (event.type === 'wait-start') await clock.advance(event.ms);
  }
  expect(await cloister.audit(session.run)).toMatchObject({ ok: true, problems: [], unattributedBytes: 0 });
  const attempts = events.filter((event) => event.type === 'model-end');
  const waits = events.flatMap((event) => (event.type === 'wait-start' ? [event.ms] : []));
  return { outcome: await session.outcome, attempts, waits, events, lookedUp };
};

const twoCalls = ['sqlite', 'duckdb'].map((name) => ({ id: `call_${name}`, name: 'lookup', args: { name } }));

/** Text in the second request which proves that the reasoning of the first reply was sent back complete. */
const proofs: Partial<Record<keyof typeof providers, RegExp>> = {
  'OpenAI responses': /"encrypted_content":"\S{20,}"/u,
  Anthropic: /"signature":"c2lnbmVkLWJ5LWFpbW9jaw=="/u,
  Google: /"thoughtSignature":"c2lnbmVkLXRob3VnaHQ=".*"thoughtSignature":"c2lnbmVkLWNhbGw="/u,
  OpenRouter: /"signature":"c2lnbmVkLWJ5LWFudGhyb3BpYw=="/u,
  Ollama: /"reasoning_content":"Two look-ups."/u,
  'OpenAI-compatible': /"reasoning_content":"Two look-ups."/u,
};

test.each(all)('%s: tools are called, reasoning is sent back, and the answer is returned', async (name, provider) => {
  const proof = proofs[name as keyof typeof providers];
  const first = proof === undefined ? { calls: twoCalls } : { reasoning: 'Two look-ups.', calls: twoCalls };
  const { model, bodies } = await open(provider, first, { text: 'Rows here, columns there.' });
  const { outcome, attempts, lookedUp, events } = await run([model]);
  expect(outcome).toMatchObject({ status: 'completed', output: 'Rows here, columns there.', failure: null });
  expect(lookedUp.toSorted()).toEqual(['duckdb', 'sqlite']);
  expect(attempts.map((attempt) => attempt.model)).toEqual([1, 2].map(() => `${provider.type}/${provider.modelId}`));
  expect(bodies[1]).toMatch(/sqlite was found.*duckdb was found/u);
  if (proof !== undefined) expect(bodies[1]).toMatch(proof);
  const reported = attempts.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0);
  expect(outcome.spent.inputTokens + outcome.spent.outputTokens).toBe(reported);
  // The price list knows no prices of models that people run themselves.
  const listed = provider.type !== 'ollama' && provider.type !== 'openai-compatible';
  expect(outcome.spent).toMatchObject({ uncertain: 0, usd: listed ? expect.any(Number) : null });
  const streamed = events.filter((event) => event.type === 'text-delta');
  expect(streamed.map(({ text }) => text).join('')).toBe('Rows here, columns there.');
});

test.each(all)('%s: a request costs its own price, with cached tokens at their own rate', async (name, provider) => {
  const usage = { inputTokens: 1_000_000, outputTokens: 100_000, cacheReadTokens: 600_000, cacheWriteTokens: 0 };
  const { model } = await open(provider, { text: 'Rows here.', usage });
  const price = { input: 3, output: 15, cacheRead: 0.3 };
  const priced = { language: model, price, maxOutputTokens: 100_000, contextTokens: 2_000_000 };
  const { outcome } = await run([priced], { budget: { tokens: 1_500_000 } });
  // More than any honest provider could count for such a short prompt; it is recorded nevertheless.
  expect(outcome.failure?.code, name).toBe('budget_overdrawn');
  expect(outcome.spent).toMatchObject({ inputTokens: 1_000_000, outputTokens: 100_000, usd: 1.2 + 0.18 + 1.5 });
});

test.each(all)('%s: after a 429 the session waits as long as requested, then continues', async (_, provider) => {
  const { model, bodies } = await open(provider, { status: 429, retryAfter: 7 }, { text: 'Now.' });
  const { outcome, attempts, waits } = await run([model]);
  expect(outcome).toMatchObject({ status: 'completed', output: 'Now.' });
  expect(outcome.spent.uncertain).toBe(0);
  expect(attempts.map(({ error }) => error?.code ?? 'ok')).toEqual(['model_rate', 'ok']);
  expect(waits).toEqual([7_000]);
  expect(bodies).toHaveLength(2);
});

test.each(all)(
  '%s: a truncated stream is retried, and its possible cost is recorded as uncertain',
  async (_, provider) => {
    const { model } = await open(provider, { text: 'Rows here, and', end: 'early' }, { text: 'Rows here.' });
    const { outcome, attempts } = await run([model]);
    expect(outcome).toMatchObject({ status: 'completed', output: 'Rows here.' });
    expect(attempts.map(({ error }) => error?.code ?? 'ok')).toEqual(['model_cut', 'ok']);
    expect(outcome.spent.uncertain).toBeGreaterThan(0);
  },
);

test.each(all)('%s: a cancelled run closes the connection', async (_, provider) => {
  const { model, left } = await open(provider, { text: 'Rows here, and', end: 'never' });
  const { outcome } = await run([model], {
    onEvent: (event, session) => {
      if (event.type === 'text-delta') session.cancel();
    },
  });
  expect(outcome.status).toBe('cancelled');
  await expect(left).resolves.toBeUndefined();
});

test.each<[Answer, string]>([
  [{ status: 401 }, 'model_auth'],
  [{ status: 404 }, 'model_unknown'],
  [{ status: 400 }, 'model_request'],
  [{ status: 500 }, 'model_server'],
  ['unreachable', 'model_network'],
])('after %j the next model answers, and the accounts show which one', async (answer, code) => {
  const first = await open(providers.Anthropic, answer, answer);
  const second = await open(providers['OpenAI responses'], { text: 'Rows here.' });
  const { outcome, attempts } = await run([first.model, second.model]);
  expect(outcome).toMatchObject({ status: 'completed', output: 'Rows here.' });
  const last = attempts.at(-1)!;
  expect([last.model, last.ok]).toEqual(['openai/gpt-5', true]);
  for (const attempt of attempts.slice(0, -1)) {
    expect(attempt.model).toBe('anthropic/claude-sonnet-4-5');
    expect(attempt.error?.code).toBe(code);
  }
  expect(outcome.spent.inputTokens).toBe(last.inputTokens);
});
