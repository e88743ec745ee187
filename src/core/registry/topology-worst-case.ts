// The most that one run can use, if every model always requests as much as it may and every retry is used up.
//
// One session of an agent, with its limits as a root or as a child:
//   turns    at most maxToolTurns and one final turn; with max_steps, each turn except the answer and its repair uses a step
//   attempts per turn: every model, each maxRetries + 1 times
//   attempt  the window (contextTokensMax, else the model's, else 128,000) and the output cap, at the model's price
//   own      turns × the sum over the models of (maxRetries + 1) × attempt
//   calls    that start a child: min(max_steps, maxToolTurns × maxToolCallsPerTurn), 16 for each with `gather`
//   spawned  agents work again for every message, so only their budget bounds them
//
// The tree below it, level by level up to `depthMax`, for the worst of its sub-agents in each respect:
//   cells    1 + min(calls × cells of a child, budget.spawns, calls that the budget pays for: four tokens of output for each)
//   depth    min(1 + depth of a child, budget.spawns)
//   tokens   min(own + min(calls × tokens of a child, cells below × most expensive cell below), budget.tokens,
//            budget.usd at the lowest price of a token)
//   dollars  likewise with budget.usd, and no more than those tokens at the highest price of a token
//
//   worst-case-never-less. Never less than what the runtime can do. The runtime does not start a child whose name is among its
//       ancestors, so in cycles the paths are followed one by one; if there are too many, the bound assumes that it could be
//       started.
//   worst-case-proportional. The computation is proportional to agents, references and levels.
import type { TopologyAgent, WorstCase } from '#contracts';
import { resolveLimits } from './limits.ts';
import { isCyclic } from './topology-graph.ts';
import type { AgentGraph } from './topology-graph.ts';

/** Copies of the defaults in `core/session` and `core/rules`, which this folder cannot import; a test compares them. */
const windowTokensDefault = 128_000;
const outputTokensDefault = 8_192;
/** The shortest call of a tool, or task of `gather`, that a model can write. */
const callTokensMin = 4;
/** The tasks that one call of `gather` may contain. */
const gatherTasksMax = 16;
const stepsMax = 100_000;

export const computeWorstCase = (graph: AgentGraph, depthMax: number): WorstCase => {
  const layers = childBounds(graph, depthMax);
  const walk = newWalk(graph, layers);
  let worst: Bound = noBound;
  for (const root of graph.roots) {
    const own = ownUsage(graph.agents[root]!, true);
    const bound = walk(root, own, depthMax) ?? withChildren(own, childrenAt(graph, layers, root, depthMax));
    worst = worse(worst, bound);
  }
  return {
    agents: safeOrNull(worst.cells),
    depth: worst.depth,
    tokens: safeOrNull(worst.tokens),
    usd: worst.nanoUsd / 1e9 <= Number.MAX_SAFE_INTEGER ? worst.nanoUsd / 1e9 : null,
  };
};

const safeOrNull = (value: number): number | null => (Number.isSafeInteger(value) ? value : null);

/** Infinity means no bound. */
type Bound = {
  readonly cells: number;
  readonly depth: number;
  readonly tokens: number;
  readonly nanoUsd: number;
  /** Of the most expensive single cell. */
  readonly cellTokens: number;
  readonly cellNanoUsd: number;
  /** Of the most expensive token. */
  readonly tokenNanoUsd: number;
  /** The prices of the cheapest token and of the cheapest output token. */
  readonly leastNanoUsd: number;
  readonly leastOutputNanoUsd: number;
};

const noBound: Bound = {
  cells: 0,
  depth: 0,
  tokens: 0,
  nanoUsd: 0,
  cellTokens: 0,
  cellNanoUsd: 0,
  tokenNanoUsd: 0,
  leastNanoUsd: Infinity,
  leastOutputNanoUsd: Infinity,
};

/** What one session uses itself, and the caps on it and everything below it. */
type OwnUsage = {
  readonly calls: number;
  readonly tokens: number;
  readonly nanoUsd: number;
  readonly tokenNanoUsd: number;
  readonly leastNanoUsd: number;
  readonly leastOutputNanoUsd: number;
  readonly spawnsMax: number;
  readonly tokensMax: number;
  readonly nanoUsdMax: number;
};

/** `wakeUps`: how often it works; a spawned agent works again for every message. */
const ownUsage = (agent: TopologyAgent, isRoot: boolean, wakeUps = 1): OwnUsage => {
  const limits = resolveLimits(agent.limits, isRoot);
  const { budget } = agent;
  const steps = Math.ceil(limits.max_steps);
  const toolTurns = Math.floor(limits.maxToolTurns);
  // With a budget of zero tokens there is no turn at all.
  const turns = budget.tokens === 0 ? 0 : Math.min(toolTurns + 1, steps + 2);
  const perCall = agent.tools.includes('gather') ? gatherTasksMax : 1;
  const calls = Math.min(steps, multiply(multiply(toolTurns, Math.ceil(limits.maxToolCallsPerTurn)), perCall));
  const attempts = Math.floor(limits.maxRetries) + 1;
  const models = agent.models.length === 0 ? [unknownModel] : agent.models;
  let tokens = 0;
  let nanoUsd = 0;
  let tokenNanoUsd = 0;
  let [leastNanoUsd, leastOutputNanoUsd] = [Infinity, Infinity];
  for (const model of models) {
    const input = limits.contextTokensMax || model.contextTokens || windowTokensDefault;
    const output = outputTokens(agent, limits.maxOutputTokens, model.maxOutputTokens);
    tokens += input + output;
    const price = model.price ?? unknownPrice;
    nanoUsd += nanoUsdOf(price, input, output);
    tokenNanoUsd = Math.max(tokenNanoUsd, nanoUsdOf(price, 1, 0), nanoUsdOf(price, 0, 1));
    const least = model.price === null ? noPrice : (model.price.least ?? leastPrice(model.price));
    leastNanoUsd = Math.min(leastNanoUsd, least.token * 1_000);
    leastOutputNanoUsd = Math.min(leastOutputNanoUsd, least.output * 1_000);
  }
  return {
    calls: turns === 0 ? 0 : multiply(calls, wakeUps),
    tokens: multiply(multiply(multiply(turns, attempts), tokens), wakeUps),
    nanoUsd: multiply(multiply(multiply(turns, attempts), nanoUsd), wakeUps),
    tokenNanoUsd,
    leastNanoUsd,
    leastOutputNanoUsd,
    spawnsMax: Math.ceil(budget.spawns ?? Infinity),
    tokensMax: budget.tokens ?? Infinity,
    nanoUsdMax: budget.usd === undefined ? Infinity : Math.round(budget.usd * 1e9),
  };
};

/** The longest reply that a budget does not lower, with room to think. */
const outputTokens = ({ thinkingTokens }: TopologyAgent, agentMax: number, modelMax: number | null): number =>
  agentMax ? agentMax + thinkingTokens : modelMax || outputTokensDefault + thinkingTokens;

const leastPrice = ({ input, output }: { readonly input: number; readonly output: number }) => ({
  token: Math.min(input, output),
  output,
});

/** A model without a known price may be free. */
const noPrice = { token: 0, output: 0 };

/** An agent without models uses a default that is unknown here. */
const unknownModel = { price: null, contextTokens: null, maxOutputTokens: null };

const unknownPrice = { input: Infinity, output: Infinity };

/** One dollar per million tokens is a thousand nano-dollars per token. */
const nanoUsdOf = (price: { input: number; output: number }, input: number, output: number): number =>
  Math.ceil((multiply(input, price.input) + multiply(output, price.output)) * 1_000);

/** A session with its worst children; the worst child may differ for each value. */
const withChildren = (own: OwnUsage, child: Bound): Bound => {
  const leastOutputNanoUsd = Math.min(own.leastOutputNanoUsd, child.leastOutputNanoUsd);
  const below = Math.min(
    multiply(own.calls, child.cells),
    own.spawnsMax,
    Math.floor(own.tokensMax / callTokensMin),
    countFor(own.nanoUsdMax, callTokensMin * leastOutputNanoUsd),
  );
  const worstBelow = below === 0 ? noBound : child;
  const tokensBelow = Math.min(multiply(own.calls, worstBelow.tokens), multiply(below, worstBelow.cellTokens));
  const nanoUsdBelow = Math.min(multiply(own.calls, worstBelow.nanoUsd), multiply(below, worstBelow.cellNanoUsd));
  const leastNanoUsd = Math.min(own.leastNanoUsd, worstBelow.leastNanoUsd);
  const tokens = Math.min(own.tokens + tokensBelow, own.tokensMax, countFor(own.nanoUsdMax, leastNanoUsd));
  const tokenNanoUsd = Math.max(own.tokenNanoUsd, worstBelow.tokenNanoUsd);
  return {
    cells: 1 + below,
    depth: below === 0 ? 0 : Math.min(1 + child.depth, own.spawnsMax),
    tokens,
    nanoUsd: Math.min(own.nanoUsd + nanoUsdBelow, own.nanoUsdMax, multiply(tokens, tokenNanoUsd)),
    cellTokens: Math.min(Math.max(own.tokens, worstBelow.cellTokens), own.tokensMax),
    cellNanoUsd: Math.min(Math.max(own.nanoUsd, worstBelow.cellNanoUsd), own.nanoUsdMax),
    tokenNanoUsd,
    leastNanoUsd,
    leastOutputNanoUsd: Math.min(own.leastOutputNanoUsd, worstBelow.leastOutputNanoUsd),
  };
};

/** How many of something a budget pays for. */
const countFor = (nanoUsd: number, each: number): number =>
  nanoUsd === Infinity || each === 0 ? Infinity : Math.floor(nanoUsd / each);

const worse = (one: Bound, other: Bound): Bound => ({
  cells: Math.max(one.cells, other.cells),
  depth: Math.max(one.depth, other.depth),
  tokens: Math.max(one.tokens, other.tokens),
  nanoUsd: Math.max(one.nanoUsd, other.nanoUsd),
  cellTokens: Math.max(one.cellTokens, other.cellTokens),
  cellNanoUsd: Math.max(one.cellNanoUsd, other.cellNanoUsd),
  tokenNanoUsd: Math.max(one.tokenNanoUsd, other.tokenNanoUsd),
  leastNanoUsd: Math.min(one.leastNanoUsd, other.leastNanoUsd),
  leastOutputNanoUsd: Math.min(one.leastOutputNanoUsd, other.leastOutputNanoUsd),
});

/** Zero times infinity is zero here, not NaN. */
const multiply = (one: number, other: number): number => (one === 0 || other === 0 ? 0 : one * other);

/** Bounds by number of levels below, then by agent as a child, independent of its ancestors. */
type Layers = {
  readonly owns: readonly OwnUsage[];
  readonly bounds: readonly (readonly Bound[])[];
  readonly depthMax: number;
};

/** Stops early if a level equals the one before. With spawns all levels are computed: two levels may be equal only because no agent may spawn on them. */
const childBounds = (graph: AgentGraph, depthMax: number): Layers => {
  const spawned = new Set(graph.spawned.flat());
  const owns = graph.agents.map((agent, index) => ownUsage(agent, false, spawned.has(index) ? Infinity : 1));
  const bounds: Bound[][] = [owns.map((own) => withChildren(own, noBound))];
  for (let level = 1; level < depthMax; level++) {
    const last = bounds[level - 1]!;
    const next = owns.map((own, index) => withChildren(own, worstStarted(graph, index, depthMax - level, last)));
    const isSettled = graph.agents.every(({ mail }) => (mail?.spawns ?? null) === null);
    if (isSettled && next.every((bound, index) => isSame(bound, last[index]!))) break;
    bounds.push(next);
  }
  return { owns, bounds, depthMax };
};

/** Whether an agent may spawn at this depth below the root. */
const maySpawn = ({ agents }: AgentGraph, index: number, depth: number): boolean => {
  const spawns = agents[index]!.mail?.spawns ?? null;
  return spawns !== null && depth < spawns.depth && spawns.children > 0 && spawns.perMinute > 0;
};

const startableAgents = (graph: AgentGraph, index: number, depth: number): readonly number[] =>
  maySpawn(graph, index, depth) ? [...graph.called[index]!, ...graph.spawned[index]!] : graph.called[index]!;

const worstStarted = (graph: AgentGraph, index: number, depth: number, bounds: readonly Bound[]): Bound =>
  worse(worstOf(startableAgents(graph, index, depth), bounds), templateBound(graph, index, depth));

/** An agent that a model defines inline: it has its parent's models and limits, and no agents below it. */
const templateBound = (graph: AgentGraph, index: number, depth: number): Bound => {
  const agent = graph.agents[index]!;
  const isMade = (agent.mail?.spawns?.templates ?? null) !== null && maySpawn(graph, index, depth);
  return isMade ? withChildren(ownUsage(agent, false, Infinity), noBound) : noBound;
};

const worstOf = (indexes: readonly number[], bounds: readonly Bound[]): Bound => {
  let worst = noBound;
  for (const index of indexes) worst = worst === noBound ? bounds[index]! : worse(worst, bounds[index]!);
  return worst;
};

const isSame = (one: Bound, other: Bound): boolean =>
  one.cells === other.cells &&
  one.depth === other.depth &&
  one.tokens === other.tokens &&
  one.nanoUsd === other.nanoUsd &&
  one.cellTokens === other.cellTokens &&
  one.cellNanoUsd === other.cellNanoUsd &&
  one.tokenNanoUsd === other.tokenNanoUsd &&
  one.leastNanoUsd === other.leastNanoUsd &&
  one.leastOutputNanoUsd === other.leastOutputNanoUsd;

/** Levels beyond the last computed one are equal to it. */
const layerAt = ({ bounds }: Layers, level: number): readonly Bound[] => bounds[Math.min(level, bounds.length - 1)]!;

const childrenAt = (graph: AgentGraph, layers: Layers, index: number, levels: number): Bound =>
  levels === 0 ? noBound : worstStarted(graph, index, layers.depthMax - levels, layerAt(layers, levels - 1));

type Walk = (index: number, own: OwnUsage, levels: number) => Bound | null;

/** Follows every path down, except to names already on the path; null if there are too many paths. */
const newWalk = (graph: AgentGraph, layers: Layers): Walk => {
  const { agents } = graph;
  const reaches = leadsToCycle(graph);
  const above = new Set<string>();
  let steps = 0;

  const walk: Walk = (index, own, levels) => {
    if (!reaches[index]!) return withChildren(own, childrenAt(graph, layers, index, levels));
    const { name } = agents[index]!;
    const depth = layers.depthMax - levels;
    let worst = levels === 0 ? noBound : templateBound(graph, index, depth);
    above.add(name);
    for (const child of levels === 0 ? [] : startableAgents(graph, index, depth)) {
      if (++steps > stepsMax) return null;
      if (child === index && graph.spawned[index]!.includes(index)) {
        worst = worse(worst, layerAt(layers, levels - 1)[index]!);
        continue;
      }
      if (above.has(agents[child]!.name)) continue;
      const bound = walk(child, layers.owns[child]!, levels - 1);
      if (bound === null) return null;
      worst = worse(worst, bound);
    }
    above.delete(name);
    return withChildren(own, worst);
  };
  return walk;
};

/** `groups` lists a group after the groups below it. */
const leadsToCycle = (graph: AgentGraph): readonly boolean[] => {
  const reaches: boolean[] = [];
  for (const members of graph.groups) {
    const some = members.some(
      (member) => isCyclic(graph, member) || graph.below[member]!.some((child) => reaches[child] === true),
    );
    for (const member of members) reaches[member] = some;
  }
  return reaches;
};
