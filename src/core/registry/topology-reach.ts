// What each agent can touch itself, and through the agents that may be started below it.
import type { AgentReach, TopologyAgent } from '#contracts';
import type { Graph } from './topology-graph.ts';

/** Of all lists together; once it is used up, each shows a few and says how many more there are. */
const namesMax = 200_000;
const fewNames = 20;

/** By the agents' names, from the roots down; where two files have one name, the later one's path stands with it. */
export const computeReach = (graph: Graph, levelsMax: number): Readonly<Record<string, AgentReach>> => {
  const own = graph.agents.map(holdings);
  const through = (kind: keyof Holdings): readonly (readonly string[])[] =>
    namesBelow(graph, { own: own.map(({ [kind]: names }) => names), levelsMax });
  const [env, servers, tools] = [through('env'), through('servers'), through('tools')];
  const taken = new Set<string>();
  const fromTheTop = [...graph.agents.keys()].sort(
    (one, other) => graph.levels[one]! - graph.levels[other]! || one - other,
  );
  return Object.fromEntries(
    fromTheTop.map((place) => {
      const { name, file } = graph.agents[place]!;
      const key = taken.has(name) ? `${name} (${file})` : name;
      taken.add(key);
      const below = { env: env[place]!, servers: servers[place]!, tools: tools[place]! };
      return [key, { ...own[place]!, through: below, ...spawnsOf(graph, place) }];
    }),
  );
};

const spawnsOf = ({ agents, spawned }: Graph, place: number): Pick<AgentReach, 'spawns'> => {
  const spawns = agents[place]!.mail?.spawns;
  if (spawns === undefined || spawns === null) return {};
  const { children, perMinute, depth, templates } = spawns;
  const names = spawned[place]!.map((child) => (child === place ? 'self' : agents[child]!.name));
  return { spawns: { agents: names, children, perMinute, depth, templates } };
};

type Holdings = Omit<AgentReach, 'through' | 'spawns'>;

const holdings = ({ models, servers, tools }: TopologyAgent): Holdings => ({
  env: sorted([...models, ...servers].flatMap(({ variables }) => variables)),
  servers: sorted(servers.map(({ name }) => name)),
  tools: sorted(tools),
});

const sorted = (names: readonly string[]): readonly string[] => [...new Set(names)].sort();

type Held = { readonly own: readonly (readonly string[])[]; readonly levelsMax: number };

/** Per agent, what those below hold and it does not. 32 names at a time, as bits, carried up from their holders. */
const namesBelow = ({ above }: Graph, { own, levelsMax }: Held): readonly (readonly string[])[] => {
  const lists: string[][] = own.map(() => []);
  const missing = own.map(() => 0);
  let kept = 0;
  const keep = (place: number, names: readonly string[], bits: number): void => {
    const list = lists[place]!;
    let left = bits;
    for (; left !== 0 && (kept < namesMax || list.length < fewNames); left &= left - 1, kept++)
      list.push(names[31 - Math.clz32(left & -left)]!);
    missing[place]! += bitCount(left);
  };
  const desk = { carried: new Uint32Array(own.length), fresh: new Uint32Array(own.length), levelsMax };
  for (const { names, holders } of inBlocks(own))
    for (const place of carryUp(holders, above, desk)) {
      keep(place, names, desk.carried[place]! & ~(holders.get(place) ?? 0));
      desk.carried[place] = 0;
    }
  return lists.map((list, place) => {
    list.sort();
    if (missing[place]! > 0) list.push(`… ${missing[place]} more`);
    return list;
  });
};

const bitCount = (bits: number): number => {
  const pairs = bits - ((bits >>> 1) & 0x5555_5555);
  const fours = (pairs & 0x3333_3333) + ((pairs >>> 2) & 0x3333_3333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
};

/** At most 32 names, and which of them each agent holds. */
type Block = { readonly names: readonly string[]; readonly holders: ReadonlyMap<number, number> };

/** In the order of their first holders: names that one agent holds are carried up together. */
const inBlocks = (own: readonly (readonly string[])[]): readonly Block[] => {
  const bitOf = new Map<string, number>();
  const blocks: { names: string[]; holders: Map<number, number> }[] = [];
  for (const [place, names] of own.entries())
    for (const name of names) {
      const bit = bitOf.get(name) ?? bitOf.size;
      const block = (blocks[bit >>> 5] ??= { names: [], holders: new Map() });
      if (!bitOf.has(name)) block.names.push(name);
      bitOf.set(name, bit);
      block.holders.set(place, (block.holders.get(place) ?? 0) | (1 << (bit & 31)));
    }
  return blocks;
};

/** Zeros between blocks; what an agent has below it, and what of that its parents have not been told. */
type ReachBuffers = { readonly carried: Uint32Array; readonly fresh: Uint32Array; readonly levelsMax: number };

/** Adds to `carried` what each agent has below it, level by level; gives the agents that have something. */
const carryUp = (
  holders: ReadonlyMap<number, number>,
  above: Graph['above'],
  { carried, fresh, levelsMax }: ReachBuffers,
): readonly number[] => {
  const touched: number[] = [];
  let telling: readonly (readonly [place: number, bits: number])[] = [...holders];
  for (let level = 1; level <= levelsMax && telling.length > 0; level++) {
    const told: number[] = [];
    for (const [place, bits] of telling)
      for (const parent of above[place]!) {
        const added = bits & ~carried[parent]!;
        if (added === 0) continue;
        if (fresh[parent] === 0) told.push(parent);
        fresh[parent]! |= added;
      }
    telling = told.map((place) => [place, fresh[place]!]);
    for (const [place, bits] of telling) {
      if (carried[place] === 0) touched.push(place);
      carried[place]! |= bits;
      fresh[place] = 0;
    }
  }
  return touched;
};
