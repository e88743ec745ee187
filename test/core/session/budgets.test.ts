import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openCloister } from 'cloister';
import type { Budget } from 'cloister';
import { estimatePromptTokens } from '#testing/core/rules';
import { rehearse } from '#testkit';
import type { ScriptedFault, ScriptLine, ScriptedReply, ScriptWithSettings } from '#testkit';
import { agent, always, ask, call, calls, lines, ofType, thrownBy, tool, world } from './driver.ts';

type Options = NonNullable<Parameters<typeof agent>[1]>;
type Settings = Omit<ScriptWithSettings, 'lines'>;

const price = { input: 1, output: 4 };
const echo = tool('echo', () => 'heard');
const thinksALittle: Options = { settings: { reasoning: 'low' } };

/** One agent on one model that may have a price and sizes. */
const askPriced = async (
  says: readonly ScriptLine[],
  options: Options = {},
  budget?: Budget,
  settings: Settings = {},
) => {
  const { clock } = world();
  const model = rehearse({ lines: says, price, ...settings }, { clock });
  const asked = await ask(agent('solo', { limits: { maxRetries: 0 }, ...options }), {
    clock,
    models: [model.model],
    ...(budget && { budget }),
  });
  return { ...asked, requests: model.requests };
};

/** An attempt's hold becomes visible when its usage stays unknown: the whole hold is then uncertain. */
const holdOf = async (goal: string, options: Options = {}, settings: Settings = {}) => {
  const { clock } = world();
  const model = rehearse({ lines: [always({ fault: 502 })], ...settings }, { clock });
  const { outcome } = await ask(agent('solo', { limits: { maxRetries: 0 }, ...options }), {
    clock,
    goal,
    models: [model.model],
    listen: false,
  });
  return { hold: outcome.spent.uncertain, request: model.requests[0]! };
};

// Rule 1: the reply cap.

test.for<[title: string, options: Options, settings: Settings, budget: Budget, expected: number]>([
  ['8,192 by default', {}, {}, {}, 8_192],
  ["the model's", {}, { maxOutputTokens: 500 }, {}, 500],
  ["the agent's before the model's", { limits: { maxOutputTokens: 300 } }, { maxOutputTokens: 500 }, {}, 300],
  ['a quarter of the request’s tokens', {}, {}, { tokens: 5_000 }, 1_250],
  ['a quarter of the request’s money, at the price of output', {}, {}, { usd: 0.02 }, 1_250],
  ['a quarter of the smaller of the two', {}, { maxOutputTokens: 50_000 }, { tokens: 8_000, usd: 0.02 }, 1_250],
  ['a quarter of the agent’s own budget', { budget: { tokens: 5_000 } }, {}, {}, 1_250],
  ['the agent’s, whatever the budget', { limits: { maxOutputTokens: 3_000 } }, {}, { tokens: 5_000 }, 3_000],
  ['never more than the model’s', {}, { maxOutputTokens: 500 }, { tokens: 5_000 }, 500],
  ['with room to think', { settings: { reasoning: 'high' } }, {}, {}, 8_192 + 16_384],
  ['with room to think beside the agent’s', { ...thinksALittle, limits: { maxOutputTokens: 300 } }, {}, {}, 4_396],
  ['no room to think beyond the model’s', { settings: { reasoning: 'max' } }, { maxOutputTokens: 500 }, {}, 500],
  ['thinking shares the quarter', { settings: { reasoning: 'high' } }, {}, { tokens: 20_000 }, 5_000],
  [
    'thinking shares it beside the agent’s',
    { ...thinksALittle, limits: { maxOutputTokens: 300 } },
    {},
    { tokens: 8_000 },
    2_000,
  ],
])('maxOutputTokens is always set: %s', async ([, options, settings, budget, expected]) => {
  const { requests } = await askPriced([always('Done.')], options, budget, settings);
  expect(requests.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([expected]);
});

// invariant: child-caps-from-definitions
test('a sub-agent’s reply is capped by the budgets of all its callers’ definitions', async () => {
  const leaf = agent('leaf', { budget: { tokens: 90_000 } });
  const middle = agent('middle', { agents: [leaf], budget: { tokens: 10_000 } });
  const { requests } = await ask(agent('lead', { agents: [middle] }), {
    says: [
      ...lines({ lead: [call('middle', { prompt: 'Go' })], middle: [call('leaf', { prompt: 'Go' })] }),
      always('Done.'),
    ],
    budget: { tokens: 30_000 },
  });
  const caps = requests.map(({ options }) => options.maxOutputTokens);
  expect(caps).toEqual([7_500, 2_500, 2_500, 2_500, 7_500]);
});

// invariant: hold-by-own-facts
test('no field of a request depends on the balance', async () => {
  const says = lines({ solo: [{ ...call('echo'), usage: { input: 5_000, output: 100 } }, 'Done.'] });
  const shown = async (budget?: Budget) =>
    (await askPriced(says, { tools: [echo] }, budget)).requests.map((request) => ({ ...request, abortSignal: null }));
  const unbounded = await shown();
  expect(unbounded).toHaveLength(2);
  expect(await shown({ tokens: 40_000, usd: 0.2 })).toEqual(unbounded);
  // Not enough for the second attempt: it is refused, never shrunk.
  const bounded = await shown({ tokens: 12_000 });
  expect(bounded).toEqual(unbounded.slice(0, 1).map((request) => ({ ...request, maxOutputTokens: 3_000 })));
});

// Rule 2: the hold.

test('the hold covers the estimate for each part of the prompt, what providers add, and the longest reply', () =>
  fc.assert(
    fc.asyncProperty(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 }).filter((text) => text.trim() !== ''),
      fc.string({ unit: 'grapheme', maxLength: 100 }),
      fc.integer({ min: 1, max: 50_000 }),
      fc.constantFrom<[modelId: string, margin: number]>(['gpt-5', 1], ['claude-sonnet-4-5', 1.6]),
      async (goal, prompt, maxOutputTokens, [modelId, margin]) => {
        const options = { prompt, tools: [echo], limits: { maxRetries: 0, maxOutputTokens } };
        const { hold, request } = await holdOf(goal, options, { modelId });
        const parts = [
          ...request.prompt.map((message) => ({ message })),
          ...(request.tools ?? []).map((one) => ({ tool: one })),
        ];
        const tokens = parts.reduce((sum, part) => sum + estimatePromptTokens(JSON.stringify(part)), 0);
        expect(hold).toBe(Math.ceil(tokens * margin) + 64 + 576 + maxOutputTokens);
      },
    ),
    { numRuns: 100 },
  ));

test('the hold of a later turn builds on reported usage, and is recomputed in full after a model change', async () => {
  const { clock } = world();
  const long = tool('long', () => 'é'.repeat(1_000));
  const [one, two] = [
    rehearse(
      {
        lines: lines({ solo: [{ ...call('long'), usage: { input: 40_000, output: 10 } }, { fault: 502 }] }),
        modelId: 'one',
      },
      { clock },
    ),
    rehearse({ lines: [always({ fault: 502 })], modelId: 'two' }, { clock }),
  ];
  const limits = { maxRetries: 0, maxOutputTokens: 50_000 };
  const { events } = await ask(agent('solo', { tools: [long], limits }), {
    clock,
    models: [one, two],
  });
  const [, same, other] = ofType(events, 'model-end').map(({ uncertain }) => uncertain);
  const estimate = Math.ceil(1.6 * estimatePromptTokens(JSON.stringify('é'.repeat(1_000))));
  expect(same).toBeGreaterThanOrEqual(40_010 + estimate + 50_000);
  expect(same).toBeLessThan(40_010 + estimate + 50_000 + 200);
  expect(other).toBeLessThan(40_000 + 50_000);
  expect(other).toBeGreaterThanOrEqual(estimate + 50_000);
});

test('an agent that reasons holds more: room to think comes on top of the default', async () => {
  const [plain, thinking] = [await holdOf('Think'), await holdOf('Think', { settings: { reasoning: 'high' } })];
  expect(thinking.hold).toBeGreaterThan(plain.hold);
});

test('money is held at the higher of input and cache-write price, and settled by the reported split', async () => {
  const prices = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
  const usage = { input: 10_000, output: 1_000, cacheRead: 6_000, cacheWrite: 3_000 };
  const { outcome } = await askPriced([always({ text: 'Done.', usage })], {}, { usd: 0.1 }, { price: prices });
  expect(outcome).toMatchObject({ status: 'budget', failure: { code: 'budget_overdrawn' } });
  const roomy = await askPriced([always({ text: 'Done.', usage })], {}, undefined, { price: prices });
  expect(roomy.outcome.spent.usd).toBeCloseTo((1_000 * 3 + 6_000 * 0.3 + 3_000 * 3.75 + 1_000 * 15) / 1e6, 9);
  const long = 'some words '.repeat(9_000);
  const least = (1.6 * estimatePromptTokens(long) * 3.75 + 8_192 * 15) / 1e6;
  const { clock } = world();
  const model = rehearse({ lines: [always('Done.')], price: prices }, { clock });
  const solo = agent('solo', { limits: { maxOutputTokens: 8_192 } });
  const askFor = (usd: number) => ask(solo, { clock, goal: long, models: [model.model], budget: { usd } });
  expect((await askFor(least * 0.98)).outcome.status).toBe('budget');
  expect((await askFor(least * 1.1)).outcome.status).toBe('completed');
});

// Rule 3: what a failed attempt counts.

test.for<[fault: ScriptedFault, counted: 'nothing' | 'uncertain']>([
  [400, 'nothing'],
  [401, 'nothing'],
  [404, 'nothing'],
  [429, 'nothing'],
  ['network', 'nothing'],
  [500, 'nothing'],
  [503, 'nothing'],
  [529, 'nothing'],
  [502, 'uncertain'],
  [504, 'uncertain'],
  [524, 'uncertain'],
  ['timeout', 'uncertain'],
  ['cut', 'uncertain'],
  ['end', 'uncertain'],
  ['error', 'uncertain'],
])('an attempt that fails with %s counts %s', async ([fault, counted]) => {
  const { outcome, events } = await askPriced([always({ fault, text: 'Half of an answer' })]);
  expect(outcome).toMatchObject({ status: 'failed', spent: { inputTokens: 0, outputTokens: 0, usd: 0 } });
  const [end] = ofType(events, 'model-end');
  expect(end!.uncertain).toBe(outcome.spent.uncertain);
  if (counted === 'nothing') expect(outcome.spent.uncertain).toBe(0);
  else expect(outcome.spent.uncertain).toBeGreaterThan(8_192);
});

type Sent = 'no response' | 'an open response' | 'the opening of a reply' | 'a token';
const plainError = new Error('Something broke.');
const statusError = (statusCode: number) => Object.assign(new Error('overloaded'), { statusCode });
const lostConnection = new TypeError('fetch failed', {
  cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }),
});
const badCertificate = new TypeError('fetch failed', {
  cause: Object.assign(new Error('expired'), { code: 'CERT_HAS_EXPIRED' }),
});

test.for<[sent: Sent, what: string, error: Error, counted: 'nothing' | 'uncertain']>([
  ['no response', 'a certificate that is not accepted', badCertificate, 'nothing'],
  ['no response', 'a lost connection', lostConnection, 'uncertain'],
  ['no response', "an error of the model's own code", plainError, 'uncertain'],
  ['an open response', 'status 400', statusError(400), 'nothing'],
  ['an open response', 'status 503', statusError(503), 'nothing'],
  ['an open response', 'status 529', statusError(529), 'nothing'],
  ['an open response', 'status 502', statusError(502), 'uncertain'],
  ['an open response', 'a lost connection', lostConnection, 'uncertain'],
  ['an open response', 'an error of its own code', plainError, 'uncertain'],
  ['the opening of a reply', 'status 529', statusError(529), 'uncertain'],
  ['the opening of a reply', 'status 400', statusError(400), 'uncertain'],
  ['a token', 'status 503', statusError(503), 'uncertain'],
])('after %s, %s makes a request count %s', async ([sent, , error, counted]) => {
  const parts: LanguageModelV4StreamPart[] = [{ type: 'stream-start', warnings: [] }];
  if (sent === 'the opening of a reply') parts.push({ type: 'response-metadata', id: 'msg_1' });
  if (sent === 'a token') parts.push({ type: 'text-start', id: '1' }, { type: 'text-delta', id: '1', delta: 'Half' });
  const language: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: 'own',
    modelId: 'own',
    supportedUrls: {},
    doGenerate: () => Promise.reject(error),
    doStream: async () => {
      if (sent === 'no response') throw error;
      return { stream: ReadableStream.from([...parts, { type: 'error' as const, error }]) };
    },
  };
  const { outcome } = await ask(agent('solo', { limits: { maxRetries: 0 } }), { models: [{ language }] });
  expect(outcome.status).toBe('failed');
  if (counted === 'nothing') expect(outcome.spent.uncertain).toBe(0);
  else expect(outcome.spent.uncertain).toBeGreaterThan(8_192);
});

test('each attempt counts by itself: an overloaded provider does not use up the budget of its retries', async () => {
  const says = lines({ solo: [{ fault: 503 }, { fault: 529 }, { fault: 502 }, 'Done.'] });
  const limits = { maxRetries: 3 };
  const { outcome, events } = await askPriced(says, { limits }, { tokens: 21_000 });
  expect(outcome).toMatchObject({ status: 'completed', output: 'Done.' });
  expect(ofType(events, 'model-end').map(({ uncertain }) => uncertain > 0)).toEqual([false, false, true, false]);
});

test('a reply without usage is uncertain, and uncertain amounts count against the cap', async () => {
  const says = lines({ solo: [{ ...call('echo'), usage: 'none' }, 'Done.'] });
  const roomy = await askPriced(says, { tools: [echo] }, { tokens: 30_000 });
  expect(roomy.outcome).toMatchObject({ status: 'completed', spent: { inputTokens: expect.any(Number) } });
  expect(roomy.outcome.spent.uncertain).toBeGreaterThan(8_192);
  const tight = await askPriced(says, { tools: [echo] }, { tokens: 3_500 });
  expect(tight.outcome).toMatchObject({ status: 'budget', failure: { code: 'budget_refused' } });
});

test('a model without a price costs an unknown amount, not nothing', async () => {
  const { outcome } = await ask(agent('solo'));
  expect(outcome.spent.usd).toBeNull();
});

// Rule 4: overdraft.

test.for<[title: string, usage: object, budget: Budget]>([
  ['more tokens than it held', { input: 100_000, output: 10 }, { tokens: 50_000 }],
  ['more money than it held, in fewer tokens', { input: 10, output: 9_500 }, { usd: 0.05 }],
])('a provider that uses %s ends the cell with status budget, and this is recorded', async ([, usage, budget]) => {
  const { outcome, report } = await askPriced([always({ text: 'Done.', usage })], {}, budget);
  // It was paid for, and nothing follows it.
  expect(report.output).toBe('Done.');
  expect(outcome).toMatchObject({ status: 'budget', failure: { code: 'budget_overdrawn' } });
  expect(outcome.spent).toMatchObject({ uncertain: 0, inputTokens: (usage as any).input });
});

test.for([NaN, -1_000_000, Infinity])(
  'a reported usage of %d tokens releases nothing and lifts no cap',
  async (input) => {
    const says = [always({ ...call('echo'), usage: { input: 0, output: 0 } })];
    const { clock } = world();
    const model = rehearse(says, { clock });
    const odd = {
      ...model,
      doStream: async (options: any) => {
        const { stream } = await model.doStream(options);
        const change = new TransformStream({
          transform: (part, out) =>
            out.enqueue(
              part.type === 'finish' ? { ...part, usage: { ...part.usage, inputTokens: { total: input } } } : part,
            ),
        });
        return { stream: stream.pipeThrough(change) };
      },
    };
    const { outcome } = await ask(agent('solo', { tools: [echo], limits: { maxToolTurns: 30 } }), {
      clock,
      models: [odd],
      budget: { tokens: 60_000 },
      audited: false,
    });
    expect(outcome.status).toBe('budget');
    const { inputTokens, uncertain } = outcome.spent;
    expect(inputTokens >= 0 && Number.isFinite(inputTokens + uncertain)).toBe(true);
  },
);

// Rule 5: a money cap needs prices.

test('a cost cap with an unpriced model is rejected at the start, also for a sub-agent', async () => {
  const { clock } = world();
  const priced = rehearse({ lines: [always('Done.')], price }, { clock });
  const unpriced = rehearse([always('Done.')], { clock, modelId: 'free-for-all' });
  const child = agent('child', { models: [unpriced] });
  const refused = { code: 'model_unpriced', message: expect.stringContaining('free-for-all') };
  const start = (options: Options, budget?: Budget) => async () => {
    const cloister = await openCloister({ store: 'memory', agents: [], clock });
    return thrownBy(() => cloister.run(agent('lead', options), 'Go', { ...(budget && { budget }) }));
  };
  expect(await start({ models: [unpriced] }, { usd: 1 })()).toMatchObject(refused);
  expect(await start({ models: [priced.model, unpriced] }, { usd: 1 })()).toMatchObject(refused);
  expect(await start({ models: [unpriced], budget: { usd: 1 } })()).toMatchObject(refused);
  expect(await start({ models: [priced.model], agents: [child] }, { usd: 1 })()).toMatchObject(refused);
  const capped = agent('child', { models: [unpriced], budget: { usd: 0 } });
  expect(await start({ models: [priced.model], agents: [capped] })()).toMatchObject(refused);
});

// Rule 6: holds wait only for running attempts, and leave the parents their floor.

const half = { usage: { input: 100, output: 10 }, delayMs: 1_000 } satisfies ScriptedReply;

test('a hold that does not fit yet waits for running attempts; one that never can is refused', async () => {
  const [one, two] = [agent('one'), agent('two')];
  const lead = agent('lead', { agents: [one, two] });
  const both = calls({ tool: 'one', args: { prompt: 'Go' } }, { tool: 'two', args: { prompt: 'Go' } });
  const says = lines({
    lead: [
      { ...both, usage: { input: 100, output: 10 } },
      { text: 'Done.', usage: { input: 100, output: 10 } },
    ],
    one: [{ text: 'One.', ...half }],
    two: [{ text: 'Two.', ...half }],
  });
  const answers = async (tokens: number) => {
    const { outcome, report } = await ask(lead, { says, budget: { tokens } });
    return { ...outcome, cells: report.cells.map(({ status }) => status) };
  };
  // Enough for one child's attempt beside the lead's floor, not for two.
  expect(await answers(5_400)).toMatchObject({
    status: 'completed',
    cells: ['completed', 'completed', 'completed'],
    spent: { ms: 2_000 },
  });
  expect(await answers(40_000)).toMatchObject({ status: 'completed', spent: { ms: 1_000 } });
  // Enough for the lead alone: the children are refused, and the floor is left for its answer.
  expect(await answers(2_900)).toMatchObject({
    status: 'partial',
    output: 'Done.',
    cells: ['partial', 'budget', 'budget'],
    missing: ['one', 'two'],
  });
});

test.for<[budget: Budget, code: string, status: string]>([
  [{ tokens: 0 }, 'budget_refused', 'budget'],
  [{ usd: 0 }, 'budget_refused', 'budget'],
  [{ ms: 0 }, 'deadline_passed', 'timeout'],
])('a budget of zero means none: %j', async ([budget, code, status]) => {
  const asked = await askPriced([always('Done.')], {}, budget);
  expect(asked.outcome).toMatchObject({ status, output: '', failure: { code } });
  expect(asked.requests).toHaveLength(0);
  const defined = await askPriced([always('Done.')], { budget });
  expect(defined.outcome).toMatchObject({ status, failure: { code } });
});

test.for<[spawns: number, started: number]>([
  [0, 0],
  [1, 1],
  [2, 2],
])('a cap of %i spawns allows %i: the other calls are refused, and the lead continues', async ([spawns, started]) => {
  const child = agent('child');
  const go = { tool: 'child', args: { prompt: 'Go' } };
  const { outcome, report, requests } = await ask(agent('lead', { agents: [child] }), {
    says: [...lines({ lead: [calls(go, go, go)] }), always('Done.')],
    budget: { spawns },
  });
  expect(report.cells).toHaveLength(1 + started);
  expect(outcome).toMatchObject({ status: started === 0 ? 'partial' : expect.any(String), spent: { spawns: started } });
  expect(requests.at(-1)!.text.match(/Error \(budget\)/gu) ?? []).toHaveLength(3 - started);
});

test('a grandchild counts against the spawn caps of all its ancestors', async () => {
  const leaf = agent('leaf');
  const middle = agent('middle', { agents: [leaf] });
  const { report, outcome } = await ask(agent('lead', { agents: [middle] }), {
    says: [
      ...lines({ lead: [call('middle', { prompt: 'Go' })], middle: [call('leaf', { prompt: 'Go' })] }),
      always('Done.'),
    ],
    budget: { spawns: 1 },
  });
  expect(report.cells.map(({ agent: name }) => name)).toEqual(['lead', 'middle']);
  expect(outcome.spent.spawns).toBe(1);
});

test("a child's cap is never above its parent's", async () => {
  const greedy = agent('greedy', { budget: { tokens: 1_000_000 } });
  const { report } = await ask(agent('lead', { agents: [greedy], budget: { tokens: 2_400 } }), {
    says: [
      ...lines({ lead: [{ ...call('greedy', { prompt: 'Go' }), usage: { input: 10, output: 1 } }] }),
      always('Done.'),
    ],
  });
  expect(report.cells[1]).toMatchObject({ agent: 'greedy', status: 'budget' });
});

test('an undefined field in a request’s budget does not lift the agent’s own cap', async () => {
  const { outcome } = await ask(agent('solo', { budget: { tokens: 0 } }), { budget: { tokens: undefined! } });
  expect(outcome).toMatchObject({ status: 'budget', failure: { code: 'budget_refused' } });
});

test.for<[title: string, budget: any]>([
  ['NaN tokens', { tokens: NaN }],
  ['negative money', { usd: -1 }],
  ['text', { tokens: 'many' }],
  ['an unknown key', { token: 5 }],
  ['NaN milliseconds', { ms: NaN }],
])('a budget with %s is rejected before anything is recorded', async ([, budget]) => {
  const cloister = await openCloister({
    store: 'memory',
    ...world(),
    agents: [agent('solo')],
    models: [rehearse({ lines: [always('Done.')], price }).model],
  });
  expect(thrownBy(() => cloister.run('solo', 'Go', { budget }))).toMatchObject({ name: 'CloisterError' });
});

// The deadline.

const slowly = (ms: number): ScriptedReply => ({ text: 'At last.', delayMs: ms });

test('a deadline ends the session on time, whatever it waits for', async () => {
  const { clock } = world();
  const never = tool('never', () => new Promise(() => undefined));
  const model = await ask(agent('solo'), { says: [always(slowly(5_000))], budget: { ms: 1_000 } });
  expect(model.outcome).toMatchObject({
    status: 'timeout',
    failure: { code: 'deadline_passed' },
    spent: { ms: 1_000 },
  });
  const waiting = await ask(agent('solo', { tools: [never] }), {
    clock,
    says: lines({ solo: [{ ...call('never'), text: 'I wait.' }] }),
    budget: { ms: 1_000 },
  });
  expect(waiting.outcome).toMatchObject({ status: 'timeout', output: 'I wait.', spent: { ms: 1_000 } });
  const back = await ask(agent('solo'), {
    says: [always({ fault: 429, retryAfterMs: 60_000 })],
    budget: { ms: 1_000 },
  });
  expect(back.outcome).toMatchObject({ status: 'timeout', spent: { ms: 1_000 } });
});

test.for<[lead: number | undefined, child: number | undefined, grandchild: number | undefined, at: number]>([
  [1_000, undefined, undefined, 1_000],
  [5_000, 1_000, 9_000, 1_000],
  [5_000, 9_000, 1_000, 1_000],
  [1_000, 9_000, 9_000, 1_000],
])("the earliest of all ancestors' deadlines counts: %j", async ([one, two, three, at]) => {
  const ms = (value: number | undefined): Options => (value === undefined ? {} : { budget: { ms: value } });
  const leaf = agent('leaf', ms(three));
  const middle = agent('middle', { agents: [leaf], ...ms(two) });
  const { report } = await ask(agent('lead', { agents: [middle], ...ms(one) }), {
    says: [
      ...lines({ lead: [call('middle', { prompt: 'Go' })], middle: [call('leaf', { prompt: 'Go' })] }),
      always(slowly(20_000), 'leaf'),
      always('Done.'),
    ],
  });
  const cell = report.cells.find((one_) => one_.agent === 'leaf')!;
  expect(cell.outcome).toMatchObject({ status: 'timeout', spent: { ms: at } });
});

test.for(['models', 'tools'] as const)('a deadline applies while waiting for a slot (%s)', async (lane) => {
  const { clock } = world();
  const take = tool('take', () => new Promise((resolve) => clock.timer(800, () => resolve('taken'))));
  const child = agent('child', { tools: [take] });
  const go = { tool: 'child', args: { prompt: 'Go' } };
  const { outcome } = await ask(agent('lead', { agents: [child] }), {
    clock,
    says: [
      ...lines({ lead: [calls(go, go, go)] }),
      ...(lane === 'models'
        ? [always(slowly(800), 'child')]
        : lines({ child: [call('take'), call('take'), call('take')] })),
      always('Done.'),
    ],
    budget: { ms: 1_000 },
    concurrency: { [lane]: 1 },
  });
  expect(outcome).toMatchObject({ status: 'timeout', spent: { ms: 1_000 } });
});

test('a deadline applies while waiting for a hold', async () => {
  const [slow, hasty] = [agent('slow'), agent('hasty', { budget: { ms: 1_000 } })];
  const go = (name: string) => ({ tool: name, args: { prompt: 'Go' } });
  const { report } = await ask(agent('lead', { agents: [slow, hasty] }), {
    says: [
      ...lines({ lead: [{ ...calls(go('slow'), go('hasty')), usage: { input: 100, output: 10 } }] }),
      always(slowly(10_000), 'slow'),
      always(slowly(10_000), 'hasty'),
      always('Done.'),
    ],
    budget: { tokens: 22_000 },
  });
  const cell = report.cells.find(({ agent: name }) => name === 'hasty')!;
  expect(cell.outcome).toMatchObject({ status: 'timeout', spent: { ms: 1_000 } });
});
