// Whatever a run does, its reported usage adds up: from every agent to its parent, from the events to the outcome, and from
// what models and tools really received to the report.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defineAgent } from 'cloister';
import type { Agent, Budget, Model } from 'cloister';
import type { JsonObject } from '#base';
import type { RunReport } from '#contracts';
import { rehearse } from '#testkit';
import type { RequestView, ScriptedReply, ScriptedUsage, VirtualClock } from '#testkit';
import { cli, scene } from '../headends/cli/driver.ts';
import { ask, tool, world } from './session/driver.ts';
import { expectSums } from './sums.ts';

type Fault = NonNullable<ScriptedReply['fault']>;
type Turn = {
  readonly calls: readonly ('echo' | 'long' | 'fail' | 'unknown' | 0 | 1)[];
  /** Faults before a reply succeeds. */
  readonly faults: readonly Fault[];
  readonly usage: ScriptedUsage | 'none';
  readonly words: string;
};
type ModelName = 'cheap' | 'dear' | 'unpriced';
type Plan = {
  readonly models: readonly ModelName[];
  readonly turns: readonly Turn[];
  /** Delay of its last answer. */
  readonly lateMs: number;
  /** Its children are called in parallel, with this timeout; null: one by one. */
  readonly gatherMs: number | null;
  readonly children: readonly Plan[];
};

const words = fc.string({ unit: fc.constantFrom('a', 'é', '界', '😀', ' ', '"', '\n'), maxLength: 40, size: 'max' });

const turn: fc.Arbitrary<Turn> = fc.record({
  calls: fc.array(fc.constantFrom<Turn['calls'][number]>('echo', 'echo', 'long', 'fail', 'unknown', 0, 1, 0, 1), {
    maxLength: 4,
  }),
  faults: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    {
      weight: 1,
      arbitrary: fc.array(fc.constantFrom<Fault>(400, 429, 500, 'cut', 'error', 'empty'), { maxLength: 4 }),
    },
  ),
  usage: fc.oneof(
    { weight: 1, arbitrary: fc.constant('none' as const) },
    {
      weight: 6,
      arbitrary: fc
        .record({ read: fc.nat(900), written: fc.nat(900), plain: fc.nat(900), output: fc.nat(999) })
        .map(({ read, written, plain, output }) => ({
          input: plain + read + written,
          cacheRead: read,
          cacheWrite: written,
          output,
        })),
    },
  ),
  words,
});

const planOf = (depth: number): fc.Arbitrary<Plan> =>
  fc.record({
    models: fc.constantFrom<readonly ModelName[]>(
      ['cheap', 'dear'],
      ['dear', 'cheap'],
      ['dear'],
      ['cheap', 'unpriced'],
      ['unpriced', 'cheap'],
    ),
    turns: fc.array(turn, { minLength: 1, maxLength: 3 }),
    lateMs: fc.constantFrom(0, 0, 30, 5_000),
    gatherMs: fc.constantFrom(null, 1_000),
    children: depth === 0 ? fc.constant([]) : fc.array(planOf(depth - 1), { maxLength: 2 }),
  });

const prices: Record<ModelName, Pick<Model, 'price'>> = {
  cheap: { price: { input: 0.15, output: 0.6, cacheRead: 0.015 } },
  dear: { price: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 } },
  unpriced: {},
};

/** What models and tools really received and sent, as they count it themselves. */
type ActualTraffic = {
  echoed: { bytesIn: number; charsIn: number; bytesOut: number; charsOut: number; calls: number };
};

const size = (text: string) => ({ bytes: Buffer.byteLength(text), chars: text.length });

const textOf = ({ q }: JsonObject): string => (typeof q === 'string' ? q : '');

const echoTool = ({ echoed }: ActualTraffic) =>
  tool('echo', (args) => {
    const [into, text] = [size(JSON.stringify(args)), `heard ${textOf(args)}`];
    const out = size(text);
    echoed.calls++;
    echoed.bytesIn += into.bytes;
    echoed.charsIn += into.chars;
    echoed.bytesOut += out.bytes;
    echoed.charsOut += out.chars;
    return text;
  });

/** The agents of a plan, each with a name that states its place in the tree, and one script that plays them all. */
const stage = (plan: Plan, clock: VirtualClock) => {
  const actual: ActualTraffic = { echoed: { calls: 0, bytesIn: 0, charsIn: 0, bytesOut: 0, charsOut: 0 } };
  const plans = new Map<string, Plan>();
  const faultsLeft = new Map<string, Fault[]>();
  const reply = (view: RequestView): ScriptedReply => {
    const { agent: name, goal } = view;
    const own = plans.get(name!)!;
    // If turns were dropped from the window, `view.turn` is too low; the goal identifies the call of the agent.
    const now = own.turns[view.turn - 1] ?? own.turns.at(-1)!;
    const key = `${goal} ${view.turn}`;
    if (!faultsLeft.has(key)) faultsLeft.set(key, [...now.faults]);
    const fault = faultsLeft.get(key)!.shift();
    const last = view.turn >= own.turns.length || view.tools.length === 0;
    const common = { usage: now.usage, reasoning: now.words, ...(fault !== undefined && { fault }) };
    const calls = last ? [] : callsOf(own, now, name!, `${goal}.${view.turn}`);
    if (calls.length > 0) return { ...common, text: now.words, calls };
    return { ...common, text: `Done: ${now.words}`, ...(last && own.lateMs > 0 && { delayMs: own.lateMs }) };
  };
  const models = Object.fromEntries(
    (['cheap', 'dear', 'unpriced'] as const).map((modelId) => {
      const rehearsal = rehearse([{ reply }], { modelId, clock });
      return [modelId, { rehearsal, model: { language: rehearsal, ...prices[modelId] } }];
    }),
  );
  const agentOf = (own: Plan, name: string): Agent => {
    plans.set(name, own);
    const agents = own.children.map((child, index) => agentOf(child, `${name}${index}`));
    return defineAgent({
      name,
      description: name,
      prompt: `Do what ${name} does: 界.`,
      models: own.models.map((one) => models[one]!.model),
      tools: [
        echoTool(actual),
        tool('long', (args) => `${textOf(args)}é`.repeat(3_000)),
        tool('fail', () => Promise.reject(new Error('no'))),
      ],
      agents,
      ...(own.gatherMs !== null && agents.length > 0 && { gather: { timeoutMs: own.gatherMs } }),
      limits: { maxRetries: 1 },
    });
  };
  return { root: agentOf(plan, 'a'), actual, rehearsals: Object.entries(models).map(([id, one]) => ({ id, ...one })) };
};

/** Children that are called in one turn are gathered if the agent has gather. */
const callsOf = (own: Plan, { calls, words: q }: Turn, name: string, goal: string) => {
  const named = calls.map((one, index) => ({ one, prompt: `${goal}.${index}`, agent: `${name}${one}` }));
  const children = named.filter(({ one }) => typeof one === 'number' && one < own.children.length);
  const tools = named.filter(({ one }) => typeof one === 'string');
  const gathered = own.gatherMs === null ? [] : children;
  return [
    // Sometimes longer than the recorded part of the arguments.
    ...tools.map(({ one }) => ({ tool: String(one), args: { q: q.length > 20 ? q.repeat(40) : q } })),
    ...(own.gatherMs === null ? children.map(({ agent, prompt }) => ({ tool: agent, args: { prompt } })) : []),
    ...(gathered.length > 0
      ? [{ tool: 'gather', args: { tasks: gathered.map(({ agent, prompt }) => ({ agent, prompt })) } }]
      : []),
  ];
};

type Run = { readonly plan: Plan; readonly cancelAfter: number | null; readonly budget: Budget };

const runs: fc.Arbitrary<Run> = fc.record({
  plan: planOf(2),
  cancelAfter: fc.option(fc.nat(25), { freq: 4 }),
  budget: fc.constantFrom<Budget>({}, {}, { tokens: 20_000 }),
});

const perform = async ({ plan, cancelAfter, budget }: Run) => {
  const { clock } = world();
  const { root, actual, rehearsals } = stage(plan, clock);
  let seen = 0;
  const asked = await ask(root, {
    clock,
    goal: 'go',
    budget,
    onEvent: (_event, session) => {
      if (seen++ === cancelAfter) session.cancel();
    },
  });
  return { ...asked, actual, rehearsals };
};

// invariant: figures-add-up
test('every figure of every agent equals the sum from its events and from its children', async () => {
  const seen = {
    cells: 0,
    failed: 0,
    cached: 0,
    unpriced: 0,
    cancelled: 0,
    uncertain: 0,
    fellBack: 0,
    cut: 0,
    refused: 0,
  };
  await fc.assert(
    fc.asyncProperty(runs, async (plan) => {
      const { report, outcome } = await perform(plan);
      expectSums(report);
      expect(report.spent).toMatchObject({ ...outcome.spent, ms: report.spent.ms });
      const { total } = report.cells[0]!.figures;
      seen.cells = Math.max(seen.cells, report.cells.length);
      seen.failed += total.requests.failed + total.tools.failed + total.agents.failed;
      seen.cached += report.spent.cacheReadTokens * report.spent.cacheWriteTokens > 0 ? 1 : 0;
      seen.unpriced += report.spent.usd === null ? 1 : 0;
      seen.cancelled += report.cells.filter(({ parent, status }) => parent !== null && status === 'timeout').length;
      seen.cancelled += outcome.status === 'cancelled' ? 1 : 0;
      seen.refused += report.cells.filter(({ status }) => status === 'budget').length;
      seen.uncertain += report.spent.uncertain > 0 ? 1 : 0;
      seen.fellBack += report.cells.filter(({ models }) => models.length > 1).length;
      seen.cut += report.events.filter((event) => event.type === 'tool-start' && event.args.endsWith('…')).length;
    }),
    { numRuns: 150 },
  );
  // A property over runs in which nothing happens would prove nothing.
  expect(Object.entries(seen).filter(([, times]) => times === 0)).toEqual([]);
});

test('the bytes and characters counted are those that models and tools really received and sent', () =>
  fc.assert(
    fc.asyncProperty(planOf(2), async (plan) => {
      const { report, actual, rehearsals } = await perform({ plan, cancelAfter: null, budget: {} });
      const { byModel, byTool } = report.cells[0]!.figures.total;
      for (const { id, rehearsal } of rehearsals) {
        const sent = rehearsal.requests.map(({ prompt, tools = [] }) =>
          [...prompt.map((message) => ({ message })), ...tools.map((one) => ({ tool: one }))].map((part) =>
            size(JSON.stringify(part)),
          ),
        );
        const all = sent.flat();
        const counted = byModel.find(({ model }) => model === `rehearsal/${id}`);
        expect({
          calls: counted?.calls ?? 0,
          bytes: counted?.bytesIn ?? 0,
          chars: counted?.charsIn ?? 0,
        }).toEqual({
          calls: sent.length,
          bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
          chars: all.reduce((sum, { chars }) => sum + chars, 0),
        });
      }
      const {
        tool: _tool,
        failed: _failed,
        ms: _ms,
        ...echoed
      } = byTool.find((one) => one.tool === 'echo') ?? {
        ...actual.echoed,
        tool: '',
        failed: 0,
        ms: 0,
      };
      expect(echoed).toEqual(actual.echoed);
    }),
    { numRuns: 40 },
  ));

test('the summary agrees with the report', () =>
  fc.assert(
    fc.asyncProperty(runs, async (plan) => {
      const { report } = await perform(plan);
      const { screen } = await cli(['run', 'a', 'x', '--verbose'], scene(), {
        terminal: { tty: true, columns: 200 },
        behaviour: { report },
      });
      expect(summaryRows(screen)).toEqual(expectedRows(report));
    }),
    { numRuns: 20 },
  ));

const summaryRows = (screen: string): readonly (readonly string[])[] => {
  const lines = screen.slice(screen.indexOf('\nSummary\n')).split('\n').slice(3);
  return lines.slice(0, lines.findIndex((line) => line.startsWith('total')) + 1).map((line) =>
    line
      .replace(/^[│├└─ ]+/u, '')
      .split(/ {2,}/u)
      .slice(0, 8),
  );
};

const abbreviated = (value: number): string => {
  if (value < 1_000) return `${value}`;
  const thousands = value / 1_000;
  return thousands < 99.95 ? `${thousands.toFixed(1)}k` : `${Math.round(thousands)}k`;
};

/** A parent's row, its own figures, then its children; the total last. */
const expectedRows = ({ cells }: RunReport): readonly (readonly string[])[] => {
  const numbers = (
    { requests, tools, agents }: RunReport['cells'][number]['figures']['own'],
    spent: RunReport['spent'],
  ) => [
    abbreviated(requests.calls),
    abbreviated(tools.calls + agents.calls),
    abbreviated(spent.inputTokens),
    abbreviated(spent.outputTokens),
    `${abbreviated(spent.cacheReadTokens)}/${abbreviated(spent.cacheWriteTokens)}`,
    spent.usd === null ? 'unknown' : `$${spent.usd.toFixed(4)}`,
  ];
  const rowsOf = (one: RunReport['cells'][number]): string[][] => {
    const children = cells.filter(({ parent }) => parent === one.cell);
    return [
      [one.agent, one.status!, ...numbers(one.figures.total, one.spent)],
      ...(children.length > 0 ? [['own', ...numbers(one.figures.own, one.own)]] : []),
      ...children.flatMap(rowsOf),
    ];
  };
  const [root] = cells;
  return [...rowsOf(root!), ['total', root!.status!, ...numbers(root!.figures.total, root!.spent)]];
};
