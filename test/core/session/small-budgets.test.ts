// Budgets as people set them: a few thousand tokens, or a few cents.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Budget } from 'cloister';
import { rehearse } from '#testkit';
import type { ScriptLine, ScriptWithSettings } from '#testkit';
import { agent, always, ask, call, lines } from './driver.ts';

/** As in the bundled price list. */
const sonnet = {
  modelId: 'claude-sonnet-4-5',
  price: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
} satisfies Partial<ScriptWithSettings>;

const askSonnet = (options: Parameters<typeof agent>[1], goal: string, budget: Budget, says: readonly ScriptLine[]) => {
  const { model } = rehearse({ lines: says, ...sonnet });
  return ask(agent('solo', options), { goal, budget, models: [model] });
};

const hello = always({ text: 'Hello!', usage: { input: 40, output: 3 } });

const words = 'The harbour office opens at seven, but the first boats are back long before that. ';

test.for<[title: string, goal: string, budget: Budget]>([
  ['5,000 tokens are enough to say hello', 'Say hello.', { tokens: 5_000 }],
  ['$0.10 are enough for "hi"', 'hi', { usd: 0.1 }],
  ['$0.50 are enough for 100 KB of context', words.repeat(1_250), { usd: 0.5 }],
  [
    '$0.50 are enough for 100 KB of JSON',
    JSON.stringify({ id: 42, name: 'boat', isOut: true }).repeat(2_700),
    { usd: 0.5 },
  ],
])('%s', async ([, goal, budget]) => {
  const { outcome, audit } = await askSonnet({}, goal, budget, [hello]);
  expect(outcome).toMatchObject({ status: 'completed', output: 'Hello!' });
  expect(audit.problems).toEqual([]);
});

test('a parent’s next request and one of its child both fit, in tokens and in money', () =>
  fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.integer({ min: 5_500, max: 400_000 }).map((tokens): Budget => ({ tokens })),
        fc.integer({ min: 25, max: 2_000 }).map((thousandths): Budget => ({ usd: thousandths / 1_000 })),
      ),
      fc.constantFrom('none', 'low', 'max' as const),
      async (budget, reasoning) => {
        const child = agent('child', { settings: { reasoning } });
        const lead = agent('lead', { agents: [child], settings: { reasoning } });
        const { model } = rehearse({
          lines: [...lines({ lead: [call('child', { prompt: 'Go' })] }), always('Done.')],
          ...sonnet,
        });
        const { outcome, report } = await ask(lead, { budget, models: [model], listen: false });
        expect(report.cells.map(({ status }) => status)).toEqual(['completed', 'completed']);
        expect(outcome.output).toBe('Done.');
      },
    ),
    { numRuns: 40 },
  ));

test.for<[budget: Budget, replies: readonly number[]]>([
  [{ tokens: 16_000 }, [4_000, 4_000, 2_000, 1_000]],
  [{ usd: 0.1 }, [1_666, 1_666, 833, 416]],
])('agents four levels deep all make their requests with %j', async ([budget, replies]) => {
  const names = ['one', 'two', 'three', 'four'];
  const root = names.reduceRight<ReturnType<typeof agent>[]>((below, name) => [agent(name, { agents: below })], [])[0]!;
  const starts = names.slice(0, -1).map((name, index) => [name, [call(names[index + 1]!, { prompt: 'Go' })]] as const);
  const { model, requests } = rehearse({ lines: [...lines(Object.fromEntries(starts)), always('Done.')], ...sonnet });
  const { report } = await ask(root, { budget, models: [model], listen: false });
  expect(report.cells.map(({ status }) => status)).toEqual(names.map(() => 'completed'));
  expect(requests.slice(0, 4).map(({ maxOutputTokens }) => maxOutputTokens)).toEqual(replies);
});

// A refusal says what was needed, what was there and which setting helps.

test.for<[title: string, options: Parameters<typeof agent>[1], budget: Budget, detail: RegExp]>([
  [
    'the reply alone',
    { limits: { maxOutputTokens: 6_000 } },
    { tokens: 5_000 },
    /^The request needs 6,\d{3} tokens, but 5,000 tokens of 5,000 tokens are left in the budget of the run\. Raise `budget\.tokens`, or lower `maxOutputTokens`\.$/u,
  ],
  [
    'the reply in money',
    { limits: { maxOutputTokens: 20_000 } },
    { usd: 0.25 },
    /^The request needs \$0\.30\d\d, but \$0\.2500 of \$0\.2500 are left in the budget of the run\. Raise `budget\.usd`, lower `maxOutputTokens`, or use a cheaper model\.$/u,
  ],
  [
    'a quarter that is too short for a reply',
    {},
    { tokens: 1_000 },
    /^A reply may use a quarter of the budget\. Of 1,000 tokens, that is room for 250 tokens, and a request needs room for 256\. Raise `budget\.tokens`, or set `maxOutputTokens`\.$/u,
  ],
  [
    'a quarter that is too short for a reply, in money',
    {},
    { usd: 0.01 },
    /^A reply may use a quarter of the budget\. Of \$0\.0100, that is room for 166 tokens, .*`budget\.usd`/u,
  ],
  [
    'a prompt that no shorter reply makes room for',
    { prompt: words.repeat(400) },
    { tokens: 5_000 },
    /^The request needs 1\d,\d{3} tokens, .* Raise `budget\.tokens`, or give the agent less to read\.$/u,
  ],
  ['no budget at all', {}, { tokens: 0 }, /that is room for 0 tokens, .* Raise `budget\.tokens`\.$/u],
  ['memory', {}, { memory: 100 }, /^The request needs [\d,]+ bytes, but 100 bytes of 100 bytes .*`budget\.memory`\.$/u],
])('a refusal says what was needed, what was there and what helps: %s', async ([, options, budget, detail]) => {
  const { outcome } = await askSonnet(options, 'Say hello.', budget, [hello]);
  expect(outcome).toMatchObject({ status: 'budget', failure: { code: 'budget_refused' } });
  expect(outcome.failure!.detail).toMatch(detail);
});

test('the refusal of a sub-agent names whose budget is used up, and no model sees the amounts', async () => {
  const child = agent('child', { limits: { maxOutputTokens: 5_500 } });
  const { report, requests } = await ask(agent('lead', { agents: [child] }), {
    says: [...lines({ lead: [call('child', { prompt: 'Go' })] }), always('Done.')],
    budget: { tokens: 8_000 },
  });
  const { failure } = report.cells[1]!.outcome!;
  expect(failure!.detail).toMatch(
    /needs 5,\d{3} tokens, but 7,\d{3} tokens of 8,000 tokens are left in the budget of the run, and \d,\d{3} tokens of it must stay free for its callers\./u,
  );
  expect(requests.at(-1)!.text).toContain('The remaining budget is too small');
  for (const { text } of requests) expect(text).not.toMatch(/7,\d{3}|8,000|must stay free/u);
});

test('without a budget, a model that counts more than was estimated ends nothing', async () => {
  const dense = always({ text: 'Done.', usage: { input: 900_000, output: 10 } });
  const { outcome } = await ask(agent('solo'), { says: [dense] });
  expect(outcome).toMatchObject({ status: 'completed', spent: { inputTokens: 900_000 } });
  const capped = await ask(agent('solo'), { says: [dense], budget: { tokens: 2_000_000 } });
  expect(capped.outcome).toMatchObject({ status: 'budget', failure: { code: 'budget_overdrawn' } });
});
