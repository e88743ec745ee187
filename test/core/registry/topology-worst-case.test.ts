import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Budget, Limits, TopologyAgent, TopologyMail, WorstCase } from '#contracts';
import { checkTopology, resolveLimits } from '#core/registry';
import type { Agent } from 'cloister';
import { agent as define, always, ask } from '../session/driver.ts';
import { agent, fileOf, model } from './topology-agents.ts';

const worstCase = (agents: readonly TopologyAgent[], depthMax = 3): WorstCase =>
  checkTopology(agents, [agents[0]!.file], { depthMax }).worstCase;

test('one agent with the built-in limits has eleven turns of three attempts', () => {
  expect(worstCase([agent('solo')])).toEqual({
    agents: 1,
    depth: 0,
    tokens: 33 * (1_000 + 100),
    usd: (33 * (1_000 * 1 + 100 * 2)) / 1e6,
  });
});

test('a root may make five hundred calls, a child twenty', () => {
  const agents = [agent('a', ['b']), agent('b', ['c']), agent('c', ['d']), agent('d', ['e']), agent('e')];
  expect(worstCase(agents)).toMatchObject({ agents: 1 + 500 + 500 * 20 + 500 * 20 * 20, depth: 3 });
});

test('a model of unknown size counts with 128,000 and 8,192 tokens, and without a price the cost has no bound', () => {
  const unknown = [model({ contextTokens: null, maxOutputTokens: null, price: null })];
  const limits = { maxToolTurns: 0, maxRetries: 0 };
  const once = { agents: 1, depth: 0, tokens: 136_192, usd: null };
  expect(worstCase([agent('solo', [], { models: unknown, limits })])).toEqual(once);
  expect(worstCase([agent('solo', [], { models: [], limits })])).toEqual(once);
  expect(worstCase([agent('solo', [], { models: unknown, limits, budget: { usd: 2, tokens: 10 } })])).toEqual({
    ...once,
    tokens: 10,
    usd: 2,
  });
});

test('a token budget bounds the cost too, at the highest token price below it', () => {
  const dear = [model({ price: { input: 3, output: 40 } })];
  const agents = [agent('lead', ['low'], { budget: { tokens: 1_000_000 } }), agent('low', [], { models: dear })];
  expect(worstCase(agents)).toMatchObject({ tokens: 1_000_000, usd: 40 });
  expect(worstCase([agents[0]!])).toMatchObject({ usd: (33 * (1_000 * 1 + 100 * 2)) / 1e6 });
});

test('the price of an unreachable model is not needed', () => {
  const agents = [agent('a', [], {}), agent('b', [], { models: [model({ price: null })] })];
  expect(worstCase(agents).usd).not.toBeNull();
});

test('one call of gather starts sixteen agents', () => {
  const limits = { maxToolTurns: 2, maxToolCallsPerTurn: 3 };
  expect(worstCase([agent('lead', ['a'], { limits, tools: ['gather'] }), agent('a')]).agents).toBe(1 + 2 * 3 * 16);
  const stepped = { ...limits, max_steps: 20 };
  expect(worstCase([agent('lead', ['a'], { limits: stepped, tools: ['gather'] }), agent('a')]).agents).toBe(21);
});

test('agents in a cycle are not started below themselves', () => {
  const limits = { maxToolTurns: 1, maxToolCallsPerTurn: 2 };
  const ring = [agent('a', ['b'], { limits }), agent('b', ['a', 'b'], { limits })];
  expect(worstCase(ring)).toMatchObject({ agents: 3, depth: 1 });
});

test('a count too large for a number has no bound', () => {
  const limits = { maxToolTurns: 1e6, maxToolCallsPerTurn: 1e6, max_steps: 1e12 };
  const chain = [agent('a', ['b'], { limits }), agent('b', ['c'], { limits }), agent('c', [], { limits })];
  expect(worstCase(chain)).toEqual({ agents: null, depth: 2, tokens: null, usd: null });
  const capped = chain.map((one) => ({ ...one, budget: { spawns: 7, tokens: 1_000_000, usd: 0.25 } }));
  // A quarter of a dollar, at $1 for a million tokens.
  expect(worstCase(capped)).toEqual({ agents: 8, depth: 2, tokens: 250_000, usd: 0.25 });
  expect(worstCase([agent('a', ['b'], { limits: { maxToolTurns: Infinity } }), agent('b')]).agents).toBeNull();
});

test('a budget in dollars bounds tokens and agents: by the lowest price of a token, and four tokens for each call', () => {
  const least = { token: 0.3, output: 15 };
  const models = [model({ price: { input: 3.75, output: 15, least }, contextTokens: 200_000, maxOutputTokens: null })];
  const names = ['one', 'two', 'three'];
  const team = [
    agent('lead', names, { models, budget: { usd: 0.5 } }),
    ...names.map((name) => agent(name, names, { models })),
  ];
  expect(worstCase(team.map((one) => ({ ...one, budget: {} })))).toMatchObject({ agents: 210_501 });
  expect(worstCase(team)).toEqual({ agents: 1 + 8_333, depth: 3, tokens: 1_666_666, usd: 0.5 });
  const counted = worstCase([{ ...team[0]!, budget: { tokens: 10_000 } }, ...team.slice(1)]);
  expect(counted).toMatchObject({ agents: 1 + 2_500, tokens: 10_000 });
});

test('of several roots the worst counts', () => {
  const limits = { maxToolTurns: 1, maxToolCallsPerTurn: 1 };
  const agents = [agent('a'), agent('b', ['c'], { limits }), agent('c')];
  expect(checkTopology(agents, []).worstCase.agents).toBe(2);
  expect(checkTopology(agents, [fileOf('a')]).worstCase.agents).toBe(1);
});

test('the limits used are those of a session', () => {
  const fields = [
    'max_steps',
    'maxToolTurns',
    'maxToolCallsPerTurn',
    'maxRetries',
    'maxOutputTokens',
    'contextTokensMax',
  ];
  const plain = define('plain');
  const said = (isRoot: boolean) => {
    const limits = resolveLimits(plain.caps.limits, isRoot);
    return Object.fromEntries(fields.map((field) => [field, limits[field as keyof Limits]]));
  };
  const models = [model({ contextTokens: null, maxOutputTokens: null })];
  const root = worstCase([agent('lead', ['plain'], { models }), agent('plain', [], { models })]);
  const spelled = worstCase([
    agent('lead', ['plain'], { models, limits: said(true) }),
    agent('plain', [], { models, limits: said(false) }),
  ]);
  expect(spelled).toEqual(root);
});

const spawner = (
  name: string,
  spawns: Partial<TopologyMail['spawns']>,
  over: Partial<TopologyAgent> = {},
): TopologyAgent => ({
  ...agent(name, [], { limits: { maxToolTurns: 2, maxToolCallsPerTurn: 3 }, ...over }),
  mail: {
    spawns: { agents: [], self: false, children: 10, perMinute: 5, depth: 3, templates: null, ...spawns },
    messages: null,
    topics: { hear: [], say: [] },
  },
});

test('an agent may spawn with every call, and spawned agents work for every message, so only a budget bounds them', () => {
  const leaf = agent('leaf');
  const root = spawner('root', { agents: [leaf.file] });
  expect(worstCase([root, leaf])).toEqual({ agents: 1 + 6, depth: 1, tokens: null, usd: null });
  const own = 9 * 1_100;
  expect(worstCase([root, { ...leaf, budget: { tokens: 10 } }])).toMatchObject({ agents: 7, tokens: own + 6 * 10 });
  expect(worstCase([spawner('root', { agents: [leaf.file] }, { budget: { spawns: 2 } }), leaf])).toMatchObject({
    agents: 3,
  });
});

test.each([{ depth: 0 }, { children: 0 }, { perMinute: 0 }])('with %j no agent is spawned', (none) => {
  const agents = [spawner('root', { agents: [fileOf('leaf')], self: true, templates: [], ...none }), agent('leaf')];
  expect(worstCase(agents)).toMatchObject({ agents: 1, depth: 0, tokens: 9 * 1_100 });
});

test.each([1, 2, 3])('an agent spawns itself down to its configured depth: %i', (depth) =>
  expect(worstCase([spawner('root', { self: true, depth }, { budget: { spawns: 5 } })])).toMatchObject({
    agents: 6,
    depth,
  }),
);

test('spawning goes deeper than calls only if the operator allows it', () => {
  const deep = [spawner('root', { self: true, depth: 6 }, { budget: { spawns: 7 } })];
  expect(worstCase(deep)).toMatchObject({ depth: 3 });
  expect(worstCase(deep, 6)).toMatchObject({ depth: 6 });
});

test('agents defined by a model count like their parent', () =>
  expect(worstCase([spawner('root', { templates: [] }, { budget: { tokens: 99_999 } })])).toMatchObject({
    agents: 7,
    depth: 1,
    tokens: 99_999,
  }));

test('agents that a spawned agent calls or spawns are bounded by a budget only', () => {
  const [a, b] = [spawner('a', { agents: [fileOf('b')] }), agent('b', ['c'])];
  expect(worstCase([a, b, agent('c')])).toMatchObject({ agents: null, depth: 2 });
  expect(worstCase([a, { ...b, budget: { spawns: 2 } }, agent('c')])).toMatchObject({ agents: 1 + 6 * 3 });
});

// invariant: worst-case-never-less
test('no run in which every model spawns as much as it may has more cells, or is deeper', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          depth: fc.integer({ min: 0, max: 3 }),
          children: fc.integer({ min: 0, max: 3 }),
          perMinute: fc.integer({ min: 0, max: 3 }),
          self: fc.boolean(),
        }),
        { minLength: 1, maxLength: 4 },
      ),
      fc.integer({ min: 0, max: 9 }),
      async (all, spawns) => {
        const limits = { maxToolTurns: 1, maxToolCallsPerTurn: 2, maxRetries: 0 };
        const isLast = (place: number): boolean => place === all.length - 1;
        const chain = all.reduceRight<Agent[]>((below, { self, ...rules }, place) => {
          const agents = [...below, ...(self ? (['self'] as const) : [])];
          const budget = place === 0 ? { spawns } : {};
          return [define(`a${place}`, { limits, budget, tools: ['spawn_agent'], spawns: { ...rules, agents } })];
        }, [])[0]!;
        const spawn = (name: string) => ({ tool: 'spawn_agent', args: { agent_id: name, initial_message: 'Go on' } });
        const says = all.map((_, place) => ({
          when: { agent: `a${place}` },
          reply: ({ turn }: { readonly turn: number }) =>
            turn > 1 ? 'Done.' : { calls: [spawn(isLast(place) ? 'self' : `a${place + 1}`), spawn('self')] },
        }));
        const { report } = await ask(chain, { says: [...says, always('Done.')] });
        const files = all.map(({ self, ...rules }, place) =>
          spawner(
            `a${place}`,
            { ...rules, self, agents: isLast(place) ? [] : [fileOf(`a${place + 1}`)] },
            { limits, budget: place === 0 ? { spawns } : {} },
          ),
        );
        const worst = worstCase(files);
        expect(report.cells.length).toBeLessThanOrEqual(worst.agents ?? Infinity);
        expect(Math.max(...report.cells.map((cell) => cell.depth))).toBeLessThanOrEqual(worst.depth);
      },
    ),
    { numRuns: 60 },
  ));

// A naive model of the same rules: every possible course of a session, call by call.

const smallLimits: fc.Arbitrary<Limits> = fc.record(
  {
    maxToolTurns: fc.integer({ min: 0, max: 2 }),
    maxToolCallsPerTurn: fc.integer({ min: 0, max: 2 }),
    maxRetries: fc.integer({ min: 0, max: 1 }),
    max_steps: fc.integer({ min: 0, max: 3 }),
  },
  { requiredKeys: ['maxToolTurns', 'maxToolCallsPerTurn', 'maxRetries'] },
);

const smallModels = fc.array(
  fc
    .record({
      contextTokens: fc.integer({ min: 1, max: 50 }),
      maxOutputTokens: fc.integer({ min: 1, max: 50 }),
      price: fc.record({ input: fc.integer({ min: 0, max: 9 }), output: fc.integer({ min: 0, max: 9 }) }),
    })
    .map(model),
  { minLength: 1, maxLength: 2 },
);

const smallBudget: fc.Arbitrary<Budget> = fc.record(
  {
    tokens: fc.constantFrom(0, 100, 1_000),
    usd: fc.constantFrom(0.0001, 0.01),
    spawns: fc.integer({ min: 0, max: 6 }),
  },
  { requiredKeys: [] },
);

const smallTeam = (cyclic: boolean): fc.Arbitrary<readonly TopologyAgent[]> =>
  fc.integer({ min: 1, max: 4 }).chain((size) =>
    fc
      .tuple(
        ...Array.from({ length: size }, (_, place) => {
          const others = Array.from({ length: size }, (_each, other) => other).filter(
            (other) => cyclic || other > place,
          );
          return fc.record({
            agents: fc.subarray(others, { maxLength: Math.min(2, others.length) }),
            limits: smallLimits,
            models: smallModels,
            budget: smallBudget,
          });
        }),
      )
      .map((all) =>
        all.map(({ agents, ...over }, place) =>
          agent(
            `a${place}`,
            agents.map((other) => `a${other}`),
            over,
          ),
        ),
      ),
  );

type RunTotals = {
  readonly cells: number;
  readonly depth: number;
  readonly tokens: number;
  readonly usd: number;
  /** The price of the cheapest output token of any of its cells. */
  readonly leastOutput: number;
  /** Its tokens with their prices, the highest first: those are counted when the budget does not cover all. */
  readonly bought: readonly PricedTokens[];
};
type PricedTokens = { readonly price: number; readonly tokens: number };

/** The number of turns and of started children, for every possible course of a session. */
const sessions = ({ limits, budget }: TopologyAgent, isRoot: boolean): readonly { turns: number; calls: number }[] => {
  const { maxToolTurns, maxToolCallsPerTurn } = { maxToolTurns: 10, maxToolCallsPerTurn: 50, ...limits };
  const stepsMax = limits.max_steps ?? (isRoot ? Infinity : 20);
  const ends: { turns: number; calls: number }[] = [];
  const turn = (no: number, steps: number, calls: number, repaired: boolean): void => {
    // The last turn, without tools.
    if (no > maxToolTurns) return void ends.push({ turns: no, calls });
    ends.push({ turns: no, calls });
    if (!repaired) turn(no + 1, steps, calls, true);
    // Calls above the limit fail, but each of them is a step.
    for (let asked = 1; asked <= maxToolCallsPerTurn + 1; asked++) {
      const begun = Math.min(asked, maxToolCallsPerTurn, stepsMax - steps);
      if (steps + asked > stepsMax) ends.push({ turns: no, calls: calls + begun });
      else turn(no + 1, steps + asked, calls + begun, repaired);
    }
  };
  if (budget.tokens === 0) return [{ turns: 0, calls: 0 }];
  turn(1, 0, 0, false);
  return ends;
};

/** Every possible result of a tree. `room`: how many more cells the ancestors allow. */
const trees = (
  agents: readonly TopologyAgent[],
  one: TopologyAgent,
  { above, room, depthMax }: { above: readonly string[]; room: number; depthMax: number },
): readonly RunTotals[] => {
  const { limits, budget, models } = one;
  const isRoot = above.length === 0;
  const spawnsMax = Math.min(room, budget.spawns ?? Infinity);
  const here = [...above, one.name];
  const children = one.agents
    .map((file) => agents.find((other) => other.file === file)!)
    .filter((child) => above.length < depthMax && !here.includes(child.name));
  const cache = new Map<number, readonly RunTotals[]>();
  /** The possible results of one call when `left` cells may still be started. */
  const called = (left: number): readonly RunTotals[] => {
    const found =
      cache.get(left) ?? children.flatMap((child) => trees(agents, child, { above: here, room: left - 1, depthMax }));
    cache.set(left, found);
    return found;
  };
  const after = (ran: RunTotals, left: number): readonly RunTotals[] => {
    const next =
      left === 0 || ran.cells >= spawnsMax
        ? []
        : called(spawnsMax === Infinity ? Infinity : spawnsMax - ran.cells).flatMap((more) =>
            after(combine(ran, more), left - 1),
          );
    return [ran, ...next];
  };
  const attempts = (limits.maxRetries ?? 2) + 1;
  const perTurn = models.flatMap(({ price, contextTokens, maxOutputTokens }) => [
    { price: price!.input / 1e6, tokens: attempts * contextTokens! },
    { price: price!.output / 1e6, tokens: attempts * maxOutputTokens! },
  ]);
  const belows = new Map<number, readonly RunTotals[]>();
  return withoutDominated(
    sessions(one, isRoot).flatMap(({ turns, calls }) => {
      const below = belows.get(calls) ?? withoutDominated(after(nothing, calls));
      belows.set(calls, below);
      const leastOutput = Math.min(...models.map(({ price }) => price!.output / 1e6));
      // Each call takes four tokens of output.
      const isPaid = (ran: RunTotals): boolean =>
        4 * ran.cells <= (budget.tokens ?? Infinity) &&
        4 * ran.cells * Math.min(leastOutput, ran.leastOutput) <= (budget.usd ?? Infinity);
      return below.filter(isPaid).map((ran) => {
        const own = perTurn.map(({ price, tokens }) => ({ price, tokens: turns * tokens }));
        const bought = capTokens([...ran.bought, ...own], budget.tokens ?? Infinity);
        const counted = Math.min(ran.tokens + sum(own.map(({ tokens }) => tokens)), budget.tokens ?? Infinity);
        const least = Math.min(...bought.map(({ price }) => price));
        return {
          cells: ran.cells + 1,
          depth: ran.depth + 1,
          tokens: Math.min(counted, least === 0 ? Infinity : Math.floor((budget.usd ?? Infinity) / least + 1e-9)),
          leastOutput: Math.min(leastOutput, ran.leastOutput),
          usd: Math.min(
            ran.usd + sum(own.map(({ price, tokens }) => price * tokens)),
            sum(bought.map(({ price, tokens }) => price * tokens)),
            budget.usd ?? Infinity,
          ),
          bought,
        };
      });
    }),
  );
};

const nothing: RunTotals = { cells: 0, depth: -1, tokens: 0, usd: 0, leastOutput: Infinity, bought: [] };

const combine = (one: RunTotals, other: RunTotals): RunTotals => ({
  cells: one.cells + other.cells,
  depth: Math.max(one.depth, other.depth),
  tokens: one.tokens + other.tokens,
  usd: one.usd + other.usd,
  leastOutput: Math.min(one.leastOutput, other.leastOutput),
  bought: [...one.bought, ...other.bought],
});

const capTokens = (bought: readonly PricedTokens[], tokensMax: number): readonly PricedTokens[] => {
  let left = tokensMax;
  return bought
    .toSorted((one, other) => other.price - one.price)
    .map(({ price, tokens }) => {
      const taken = Math.min(tokens, left);
      left -= taken;
      return { price, tokens: taken };
    });
};

/** Drops every result that another one with the same number of cells equals or exceeds in all respects. */
const withoutDominated = (all: readonly RunTotals[]): readonly RunTotals[] => {
  const byCells = new Map<number, RunTotals[]>();
  for (const ran of all) {
    const same = byCells.get(ran.cells) ?? [];
    if (same.some((other) => other.depth >= ran.depth && other.tokens >= ran.tokens && other.usd >= ran.usd)) continue;
    byCells.set(ran.cells, [
      ...same.filter((other) => !(ran.depth >= other.depth && ran.tokens >= other.tokens && ran.usd >= other.usd)),
      ran,
    ]);
  }
  return [...byCells.values()].flat();
};

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

const maxima = (agents: readonly TopologyAgent[], depthMax: number): Omit<RunTotals, 'bought' | 'leastOutput'> => {
  const all = trees(agents, agents[0]!, { above: [], room: Infinity, depthMax });
  const most = (of: (ran: RunTotals) => number): number => Math.max(...all.map(of));
  return {
    cells: most(({ cells }) => cells),
    depth: most(({ depth }) => depth),
    tokens: most(({ tokens }) => tokens),
    usd: most(({ usd }) => usd),
  };
};

test.each([
  ['trees', false, 3],
  ['cycles', true, 2],
])('the worst case is the maximum over all possible runs: %s', (_shape, cyclic, depthMax) =>
  fc.assert(
    fc.property(smallTeam(cyclic), (agents) => {
      const worst = worstCase(agents, depthMax);
      const most = maxima(agents, depthMax);
      expect(worst.agents).toBeGreaterThanOrEqual(most.cells);
      expect(worst.depth).toBeGreaterThanOrEqual(most.depth);
      expect(worst.tokens).toBeGreaterThanOrEqual(most.tokens);
      expect(worst.usd).toBeGreaterThanOrEqual(most.usd - 1e-9);
      if (agents.some(({ budget: { tokens, usd } }) => tokens !== undefined || usd !== undefined)) return;
      expect(worst).toMatchObject({ agents: most.cells, depth: most.depth });
      if (agents.some(({ budget }) => budget.spawns !== undefined)) return;
      expect(worst.tokens).toBe(most.tokens);
      expect(worst.usd).toBeCloseTo(most.usd, 6);
    }),
    { numRuns: 200 },
  ),
);

/** Greedy models in the real runtime: each calls its one sub-agent as often as it may. */
const chainOf = (all: readonly { limits: Limits; budget: Budget }[]): Agent =>
  all.reduceRight<Agent[]>(
    (below, { limits, budget }, place) => [define(`a${place}`, { limits, budget, agents: below })],
    [],
  )[0]!;

const greedy = (all: readonly { limits: Limits }[]) =>
  all.flatMap(({ limits }, place) => {
    const { maxToolCallsPerTurn = 50, max_steps = place === 0 ? Infinity : 20 } = limits;
    const next = `a${place + 1}`;
    return [
      {
        when: { agent: `a${place}` },
        reply: ({ turn, tools }: { readonly turn: number; readonly tools: readonly string[] }) => {
          const left = max_steps - (turn - 1) * maxToolCallsPerTurn;
          const asked = tools.includes(next) ? Math.min(maxToolCallsPerTurn, left) : 0;
          if (asked <= 0) return 'Done.';
          return { calls: Array.from({ length: asked }, () => ({ tool: next, args: { prompt: 'Go on' } })) };
        },
      },
    ];
  });

// invariant: worst-case-never-less
test('a run in which every model calls as much as it may has exactly that many cells, and is never deeper', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          limits: smallLimits.map((limits) => ({ ...limits, maxRetries: 0 })),
          budget: fc.record({ spawns: fc.integer({ min: 0, max: 9 }) }, { requiredKeys: [] }),
        }),
        { minLength: 1, maxLength: 5 },
      ),
      async (all) => {
        const { report } = await ask(chainOf(all), { says: [...greedy(all), always('Done.')] });
        const files = all.map(({ limits, budget }, place) =>
          agent(`a${place}`, place + 1 < all.length ? [`a${place + 1}`] : [], { limits, budget }),
        );
        const worst = worstCase(files);
        const depth = Math.max(...report.cells.map((cell) => cell.depth));
        expect(report.cells.length).toBe(worst.agents);
        // Where spawns are capped, siblings may use them up before any agent goes deeper.
        if (all.every(({ budget }) => budget.spawns === undefined)) expect(depth).toBe(worst.depth);
        else expect(depth).toBeLessThanOrEqual(worst.depth);
      },
    ),
    { numRuns: 60 },
  ));
