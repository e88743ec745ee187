// What each agent can reach itself, and through the agents that may be started below it.
import type { AgentReach, TopologyAgent } from '#contracts';
import type { AgentGraph } from './topology-graph.ts';

/** For all lists together. Beyond it, each list shows a few names and the number of further ones. */
const namesMax = 200_000;
const fewNames = 20;

/** Keyed by agent name, from the roots down. If two files have the same name, the key of the later one includes its path. */
export const computeReach = (graph: AgentGraph, levelsMax: number): Readonly<Record<string, AgentReach>> => {
  const own = graph.agents.map(ownReach);
  const through = (kind: keyof OwnReach): readonly (readonly string[])[] =>
    namesBelow(graph, { own: own.map(({ [kind]: names }) => names), levelsMax });
  const [env, servers, tools] = [through('env'), through('servers'), through('tools')];
  const taken = new Set<string>();
  const topDown = [...graph.agents.keys()].sort(
    (one, other) => graph.levels[one]! - graph.levels[other]! || one - other,
  );
  return Object.fromEntries(
    topDown.map((index) => {
      const { name, file } = graph.agents[index]!;
      const key = taken.has(name) ? `${name} (${file})` : name;
      taken.add(key);
      const below = { env: env[index]!, servers: servers[index]!, tools: tools[index]! };
      return [
        key,
        {
          ...own[index]!,
          through: below,
          ...spawnReach(graph, index),
          ...skillReach(graph, index),
          ...approvalReach(graph, index),
        },
      ];
    }),
  );
};

const spawnReach = ({ agents, spawned }: AgentGraph, index: number): Pick<AgentReach, 'spawns'> => {
  const spawns = agents[index]!.mail?.spawns;
  if (spawns === undefined || spawns === null) return {};
  const { children, perMinute, depth, templates } = spawns;
  const names = spawned[index]!.map((child) => (child === index ? 'self' : agents[child]!.name));
  return { spawns: { agents: names, children, perMinute, depth, templates } };
};

const skillReach = ({ agents }: AgentGraph, index: number): Pick<AgentReach, 'skills'> => {
  const { skills = [] } = agents[index]!;
  return skills.length === 0 ? {} : { skills };
};

const approvalReach = ({ agents }: AgentGraph, index: number): Pick<AgentReach, 'approve' | 'asks'> => {
  const { approve = {}, asks = false } = agents[index]!;
  return { ...(Object.keys(approve).length === 0 ? {} : { approve }), ...(asks ? { asks } : {}) };
};

type OwnReach = Omit<AgentReach, 'through' | 'spawns' | 'skills' | 'approve' | 'asks'>;

const ownReach = ({ models, servers, tools }: TopologyAgent): OwnReach => ({
  env: sorted([...models, ...servers].flatMap(({ variables }) => variables)),
  servers: sorted(servers.map(({ name }) => name)),
  tools: sorted(tools),
});

const sorted = (names: readonly string[]): readonly string[] => [...new Set(names)].sort();

type NamesByAgent = { readonly own: readonly (readonly string[])[]; readonly levelsMax: number };

/** Per agent, the names that agents below it have and it does not. Works on 32 names at a time, as bits, passed up from their holders. */
const namesBelow = ({ above }: AgentGraph, { own, levelsMax }: NamesByAgent): readonly (readonly string[])[] => {
  const lists: string[][] = own.map(() => []);
  const missing = own.map(() => 0);
  let kept = 0;
  const keep = (index: number, names: readonly string[], bits: number): void => {
    const list = lists[index]!;
    let left = bits;
    for (; left !== 0 && (kept < namesMax || list.length < fewNames); left &= left - 1, kept++)
      list.push(names[31 - Math.clz32(left & -left)]!);
    missing[index]! += bitCount(left);
  };
  const buffers = { carried: new Uint32Array(own.length), fresh: new Uint32Array(own.length), levelsMax };
  for (const { names, holders } of toBlocks(own))
    for (const index of propagateUp(holders, above, buffers)) {
      keep(index, names, buffers.carried[index]! & ~(holders.get(index) ?? 0));
      buffers.carried[index] = 0;
    }
  return lists.map((list, index) => {
    list.sort();
    if (missing[index]! > 0) list.push(`… ${missing[index]} more`);
    return list;
  });
};

const bitCount = (bits: number): number => {
  const pairs = bits - ((bits >>> 1) & 0x5555_5555);
  const fours = (pairs & 0x3333_3333) + ((pairs >>> 2) & 0x3333_3333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
};

/** At most 32 names, and which of them each agent has. */
type Block = { readonly names: readonly string[]; readonly holders: ReadonlyMap<number, number> };

/** In the order of their first holders, so that the names of one agent are passed up together. */
const toBlocks = (own: readonly (readonly string[])[]): readonly Block[] => {
  const bitOf = new Map<string, number>();
  const blocks: { names: string[]; holders: Map<number, number> }[] = [];
  for (const [index, names] of own.entries())
    for (const name of names) {
      const bit = bitOf.get(name) ?? bitOf.size;
      const block = (blocks[bit >>> 5] ??= { names: [], holders: new Map() });
      if (!bitOf.has(name)) block.names.push(name);
      bitOf.set(name, bit);
      block.holders.set(index, (block.holders.get(index) ?? 0) | (1 << (bit & 31)));
    }
  return blocks;
};

/** `carried`: the names below each agent; `fresh`: those not passed to its parents yet. Both are zero between blocks. */
type ReachBuffers = { readonly carried: Uint32Array; readonly fresh: Uint32Array; readonly levelsMax: number };

/** Adds the names below each agent to `carried`, level by level. Returns the agents that got any. */
const propagateUp = (
  holders: ReadonlyMap<number, number>,
  above: AgentGraph['above'],
  { carried, fresh, levelsMax }: ReachBuffers,
): readonly number[] => {
  const touched: number[] = [];
  let frontier: readonly (readonly [place: number, bits: number])[] = [...holders];
  for (let level = 1; level <= levelsMax && frontier.length > 0; level++) {
    const reached: number[] = [];
    for (const [index, bits] of frontier)
      for (const parent of above[index]!) {
        const added = bits & ~carried[parent]!;
        if (added === 0) continue;
        if (fresh[parent] === 0) reached.push(parent);
        fresh[parent]! |= added;
      }
    frontier = reached.map((index) => [index, fresh[index]!]);
    for (const [index, bits] of frontier) {
      if (carried[index] === 0) touched.push(index);
      carried[index]! |= bits;
      fresh[index] = 0;
    }
  }
  return touched;
};
