// What `check` says about budgets before anything is spent.
import { expect, test } from 'vitest';
import { ai, check, createFolders } from './driver.ts';

const config = {
  providers: {
    openai: { type: 'openai', apiKey: '${OPENAI_API_KEY}' },
    anthropic: { type: 'anthropic', apiKey: '${ANTHROPIC_API_KEY}' },
  },
};

const env = { OPENAI_API_KEY: 'test', ANTHROPIC_API_KEY: 'test' };

const checkFiles = async (files: Readonly<Record<string, string>>) =>
  check(createFolders({ ...files, '.ai-agent.json': config }, { env }), ['lead.ai']);

const budgetWarnings = async (files: Readonly<Record<string, string>>) =>
  (await checkFiles(files)).warnings.filter(({ code }) => code === 'budget-small' || code === 'thinking-small');

const lead = (...keys: readonly string[]): string => ai(['models: anthropic/claude-sonnet-4-5', ...keys].join('\n'));

test('a budget that affords no request is a warning that says what it needs', async () => {
  expect(await budgetWarnings({ 'lead.ai': lead('budget: { tokens: 5000 }') })).toEqual([]);
  expect(await budgetWarnings({ 'lead.ai': lead('budget: { usd: 0.10 }') })).toEqual([]);
  expect(await budgetWarnings({ 'lead.ai': lead('budget: { tokens: 400 }') })).toEqual([
    {
      code: 'budget-small',
      agent: 'lead',
      message: expect.stringMatching(
        /^`lead` can make no request: one needs a budget of 1,024 tokens, and the smallest that applies to it has 400 tokens; raise `budget\.tokens` or set `maxOutputTokens`$/u,
      ),
    },
  ]);
  expect(
    await budgetWarnings({ 'lead.ai': `${lead('budget: { tokens: 5000 }')}${'Read this. '.repeat(3_000)}\n` }),
  ).toMatchObject([
    { code: 'budget-small', message: expect.stringContaining('raise `budget.tokens` or shorten its prompt') },
  ]);
  const dear = await budgetWarnings({ 'lead.ai': lead('budget: { usd: 0.10 }', 'maxOutputTokens: 8192') });
  expect(dear).toMatchObject([
    { code: 'budget-small', message: expect.stringContaining('$0.1000; raise `budget.usd`') },
  ]);
});

test('a sub-agent has the budgets of all its callers', async () => {
  const files = {
    'lead.ai': lead('agents: helper.ai', 'budget: { tokens: 5000 }'),
    'helper.ai': lead('maxOutputTokens: 6000', 'budget: { tokens: 90000 }'),
  };
  expect(await budgetWarnings(files)).toMatchObject([{ code: 'budget-small', agent: 'helper' }]);
});

test('a budget that is too small for agents further down is a warning that says what they need', async () => {
  const chain = (tokens: number) => ({
    'lead.ai': lead('agents: two.ai', `budget: { tokens: ${tokens} }`),
    'two.ai': lead('agents: three.ai'),
    'three.ai': lead('agents: four.ai'),
    'four.ai': lead(),
  });
  expect(await budgetWarnings(chain(5_000))).toEqual([]);
  const message = expect.stringContaining(
    'one needs a budget of 4,096 tokens, and the smallest that applies to it has 3,000 tokens',
  );
  expect(await budgetWarnings(chain(3_000))).toEqual([{ code: 'budget-small', agent: 'four', message }]);
});

test('a level of thinking without room is a warning', async () => {
  const thinking = (...keys: readonly string[]) => budgetWarnings({ 'lead.ai': lead('reasoning: high', ...keys) });
  expect(await thinking()).toEqual([]);
  expect(await thinking('budget: { tokens: 100000 }')).toEqual([]);
  expect(await thinking('budget: { tokens: 20000 }')).toEqual([
    {
      code: 'thinking-small',
      agent: 'lead',
      message:
        '`lead` sets `reasoning: high`, for which 16,384 tokens of thinking are usual, but thinking and answer share 5,000 ' +
        'tokens; raise the budget or choose a lower level',
    },
  ]);
});

test('the worst case is capped by the budgets: four agents with $0.50', async () => {
  const helpers = ['one', 'two', 'three'];
  const agents = (names: readonly string[]): string => `agents: [${names.map((name) => `${name}.ai`).join(', ')}]`;
  const { worstCase } = await checkFiles({
    'lead.ai': lead(agents(helpers), 'budget: { usd: 0.50 }'),
    'one.ai': lead(agents(['two', 'three'])),
    'two.ai': lead(agents(['three'])),
    'three.ai': lead(),
  });
  expect(worstCase.usd).toBe(0.5);
  expect(worstCase.tokens).toBeLessThan(2_000_000);
  expect(worstCase.agents).toBeLessThan(10_000);
});
