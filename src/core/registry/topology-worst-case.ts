// The most that one run can come to, if every model always asks for as much as it may and every attempt is used up.
//
// One session of an agent, with its limits as a root or as a child:
//   turns    at most maxToolTurns and one last; with max_steps, each turn but the answer and its repair takes a step
//   attempts in a turn: every model, each maxRetries + 1 times
//   attempt  the window (contextTokensMax, else the model's, else 128,000) and the output cap, at the model's price
//   own      turns × the sum over the models of (maxRetries + 1) × attempt
//   calls    that begin a child: min(max_steps, maxToolTurns × maxToolCallsPerTurn), 16 for each with `gather`
//   spawned  it works anew for every message, so it has no bound of its own, but for its budget
//
// The tree below it, level by level up to `depthMax`, for the worst of its sub-agents in each respect:
//   cells    1 + min(calls × cells of a child, budget.spawns)
//   depth    min(1 + depth of a child, budget.spawns)
//   tokens   min(own + min(calls × tokens of a child, cells below × dearest cell below), budget.tokens)
//   money    likewise with budget.usd, and no more than those tokens at the dearest price of a token
//
//   W1. Never less than what the runtime can do: a child whose name stands above it is not begun, so where agents form
//       cycles the ways are followed one by one; where there are too many of those, as if it could be begun.
//   W2. Work is in proportion to agents, references and levels.
import type { TopologyAgent, WorstCase } from '#contracts';
import { isCyclic } from './topology-graph.ts';
import type { Graph } from './topology-graph.ts';

/** As `core/cells` and `core/session` have them, which this folder does not know: a test compares them. */
const limitDefaults = {
  maxToolTurns: 10,
  maxRetries: 2,
  maxToolCallsPerTurn: 50,
  maxOutputTokens: 0,
  contextTokensMax: 0,
};
const childStepsDefault = 20;
const windowTokensDefault = 128_000;
const outputTokensDefault = 8_192;
/** What one call of `gather` may ask for. */
const gatherTasksMax = 16;
const stepsMax = 100_000;

export const worstCaseOf = (graph: Graph, depthMax: number): WorstCase => {
  const layers = childBounds(graph, depthMax);
  const walk = newWalk(graph, layers);
  let worst: Bound = noBound;
  for (const root of graph.roots) {
    const own = ownOf(graph.agents[root]!, true);
    const bound = walk(root, own, depthMax) ?? join(own, childrenAt(graph, layers, root, depthMax));
    worst = worse(worst, bound);
  }
  return {
    agents: usable(worst.cells),
    depth: worst.depth,
    tokens: usable(worst.tokens),
    usd: worst.nanoUsd / 1e9 <= Number.MAX_SAFE_INTEGER ? worst.nanoUsd / 1e9 : null,
  };
};

const usable = (value: number): number | null => (Number.isSafeInteger(value) ? value : null);

/** Infinity where there is no bound. */
type Bound = {
  readonly cells: number;
  readonly depth: number;
  readonly tokens: number;
  readonly nanoUsd: number;
  /** Of the dearest single cell in it. */
  readonly cellTokens: number;
  readonly cellNanoUsd: number;
  /** Of the dearest token in it. */
  readonly tokenNanoUsd: number;
};

const noBound: Bound = { cells: 0, depth: 0, tokens: 0, nanoUsd: 0, cellTokens: 0, cellNanoUsd: 0, tokenNanoUsd: 0 };

/** What one session does itself, and the caps on it and all below it. */
type Own = {
  readonly calls: number;
  readonly tokens: number;
  readonly nanoUsd: number;
  readonly tokenNanoUsd: number;
  readonly spawnsMax: number;
  readonly tokensMax: number;
  readonly nanoUsdMax: number;
};

/** `again`: it works as often as somebody writes to it. */
const ownOf = (agent: TopologyAgent, isRoot: boolean, again = 1): Own => {
  const limits = { ...limitDefaults, max_steps: isRoot ? Infinity : childStepsDefault, ...agent.limits };
  const { budget } = agent;
  const steps = Math.ceil(limits.max_steps);
  const toolTurns = Math.floor(limits.maxToolTurns);
  // Zero is zero: without a token there is no turn.
  const turns = budget.tokens === 0 ? 0 : Math.min(toolTurns + 1, steps + 2);
  const perCall = agent.tools.includes('gather') ? gatherTasksMax : 1;
  const calls = Math.min(steps, times(times(toolTurns, Math.ceil(limits.maxToolCallsPerTurn)), perCall));
  const attempts = Math.floor(limits.maxRetries) + 1;
  const models = agent.models.length === 0 ? [unknownModel] : agent.models;
  let tokens = 0;
  let nanoUsd = 0;
  let tokenNanoUsd = 0;
  for (const model of models) {
    const input = limits.contextTokensMax || model.contextTokens || windowTokensDefault;
    const output = (limits.maxOutputTokens || model.maxOutputTokens || outputTokensDefault) + agent.thinkingTokens;
    tokens += input + output;
    const price = model.price ?? unknownPrice;
    nanoUsd += nanoUsdOf(price, input, output);
    tokenNanoUsd = Math.max(tokenNanoUsd, nanoUsdOf(price, 1, 0), nanoUsdOf(price, 0, 1));
  }
  return {
    calls: turns === 0 ? 0 : times(calls, again),
    tokens: times(times(times(turns, attempts), tokens), again),
    nanoUsd: times(times(times(turns, attempts), nanoUsd), again),
    tokenNanoUsd,
    spawnsMax: Math.ceil(budget.spawns ?? Infinity),
    tokensMax: budget.tokens ?? Infinity,
    nanoUsdMax: budget.usd === undefined ? Infinity : Math.round(budget.usd * 1e9),
  };
};

/** An agent that names none is given a default that is not known here. */
const unknownModel = { price: null, contextTokens: null, maxOutputTokens: null };

const unknownPrice = { input: Infinity, output: Infinity };

/** Dollars per million tokens are thousands of nano-dollars per token. */
const nanoUsdOf = (price: { input: number; output: number }, input: number, output: number): number =>
  Math.ceil((times(input, price.input) + times(output, price.output)) * 1_000);

/** A session with the worst of its children, which may be another one in each respect. */
const join = (own: Own, child: Bound): Bound => {
  const below = Math.min(times(own.calls, child.cells), own.spawnsMax);
  const worstBelow = below === 0 ? noBound : child;
  const tokensBelow = Math.min(times(own.calls, worstBelow.tokens), times(below, worstBelow.cellTokens));
  const nanoUsdBelow = Math.min(times(own.calls, worstBelow.nanoUsd), times(below, worstBelow.cellNanoUsd));
  const tokens = Math.min(own.tokens + tokensBelow, own.tokensMax);
  const tokenNanoUsd = Math.max(own.tokenNanoUsd, worstBelow.tokenNanoUsd);
  return {
    cells: 1 + below,
    depth: below === 0 ? 0 : Math.min(1 + child.depth, own.spawnsMax),
    tokens,
    nanoUsd: Math.min(own.nanoUsd + nanoUsdBelow, own.nanoUsdMax, times(tokens, tokenNanoUsd)),
    cellTokens: Math.min(Math.max(own.tokens, worstBelow.cellTokens), own.tokensMax),
    cellNanoUsd: Math.min(Math.max(own.nanoUsd, worstBelow.cellNanoUsd), own.nanoUsdMax),
    tokenNanoUsd,
  };
};

const worse = (one: Bound, other: Bound): Bound => ({
  cells: Math.max(one.cells, other.cells),
  depth: Math.max(one.depth, other.depth),
  tokens: Math.max(one.tokens, other.tokens),
  nanoUsd: Math.max(one.nanoUsd, other.nanoUsd),
  cellTokens: Math.max(one.cellTokens, other.cellTokens),
  cellNanoUsd: Math.max(one.cellNanoUsd, other.cellNanoUsd),
  tokenNanoUsd: Math.max(one.tokenNanoUsd, other.tokenNanoUsd),
});

/** Nothing of what has no bound is still nothing. */
const times = (one: number, other: number): number => (one === 0 || other === 0 ? 0 : one * other);

/** Per number of levels below, per agent as a child, whoever stands above it. */
type Layers = {
  readonly owns: readonly Own[];
  readonly bounds: readonly (readonly Bound[])[];
  readonly depthMax: number;
};

/** A level may be like the one before because nobody on it may spawn: with spawns all of them are looked at. */
const childBounds = (graph: Graph, depthMax: number): Layers => {
  const spawned = new Set(graph.spawned.flat());
  const owns = graph.agents.map((agent, place) => ownOf(agent, false, spawned.has(place) ? Infinity : 1));
  const bounds: Bound[][] = [owns.map((own) => join(own, noBound))];
  for (let level = 1; level < depthMax; level++) {
    const last = bounds[level - 1]!;
    const next = owns.map((own, place) => join(own, worstStarted(graph, place, depthMax - level, last)));
    const isSettled = graph.agents.every(({ mail }) => (mail?.spawns ?? null) === null);
    if (isSettled && next.every((bound, place) => isSame(bound, last[place]!))) break;
    bounds.push(next);
  }
  return { owns, bounds, depthMax };
};

/** Whether it may spawn where it stands so many levels below the root. */
const maySpawn = ({ agents }: Graph, place: number, depth: number): boolean => {
  const spawns = agents[place]!.mail?.spawns ?? null;
  return spawns !== null && depth < spawns.depth && spawns.children > 0 && spawns.perMinute > 0;
};

const startedBy = (graph: Graph, place: number, depth: number): readonly number[] =>
  maySpawn(graph, place, depth) ? [...graph.called[place]!, ...graph.spawned[place]!] : graph.called[place]!;

const worstStarted = (graph: Graph, place: number, depth: number, bounds: readonly Bound[]): Bound =>
  worse(worstOf(startedBy(graph, place, depth), bounds), templateOf(graph, place, depth));

/** An agent of its model's making: its parent's models and limits, and nobody below it. */
const templateOf = (graph: Graph, place: number, depth: number): Bound => {
  const agent = graph.agents[place]!;
  const isMade = (agent.mail?.spawns?.templates ?? null) !== null && maySpawn(graph, place, depth);
  return isMade ? join(ownOf(agent, false, Infinity), noBound) : noBound;
};

const worstOf = (places: readonly number[], bounds: readonly Bound[]): Bound => {
  let worst = noBound;
  for (const place of places) worst = worst === noBound ? bounds[place]! : worse(worst, bounds[place]!);
  return worst;
};

const isSame = (one: Bound, other: Bound): boolean =>
  one.cells === other.cells &&
  one.depth === other.depth &&
  one.tokens === other.tokens &&
  one.nanoUsd === other.nanoUsd &&
  one.cellTokens === other.cellTokens &&
  one.cellNanoUsd === other.cellNanoUsd &&
  one.tokenNanoUsd === other.tokenNanoUsd;

/** More levels change nothing once a level has changed nothing. */
const layerAt = ({ bounds }: Layers, level: number): readonly Bound[] => bounds[Math.min(level, bounds.length - 1)]!;

const childrenAt = (graph: Graph, layers: Layers, place: number, levels: number): Bound =>
  levels === 0 ? noBound : worstStarted(graph, place, layers.depthMax - levels, layerAt(layers, levels - 1));

type Walk = (place: number, own: Own, levels: number) => Bound | null;

/** Follows every way down, without those that come back to a name above; null when there are too many. */
const newWalk = (graph: Graph, layers: Layers): Walk => {
  const { agents } = graph;
  const reaches = reachesCycle(graph);
  const above = new Set<string>();
  let steps = 0;

  const walk: Walk = (place, own, levels) => {
    if (!reaches[place]!) return join(own, childrenAt(graph, layers, place, levels));
    const { name } = agents[place]!;
    const depth = layers.depthMax - levels;
    let worst = levels === 0 ? noBound : templateOf(graph, place, depth);
    above.add(name);
    for (const child of levels === 0 ? [] : startedBy(graph, place, depth)) {
      if (++steps > stepsMax) return null;
      if (child === place && graph.spawned[place]!.includes(place)) {
        worst = worse(worst, layerAt(layers, levels - 1)[place]!);
        continue;
      }
      if (above.has(agents[child]!.name)) continue;
      const bound = walk(child, layers.owns[child]!, levels - 1);
      if (bound === null) return null;
      worst = worse(worst, bound);
    }
    above.delete(name);
    return join(own, worst);
  };
  return walk;
};

/** Groups come with those below them first. */
const reachesCycle = (graph: Graph): readonly boolean[] => {
  const reaches: boolean[] = [];
  for (const members of graph.groups) {
    const some = members.some(
      (member) => isCyclic(graph, member) || graph.below[member]!.some((child) => reaches[child] === true),
    );
    for (const member of members) reaches[member] = some;
  }
  return reaches;
};
