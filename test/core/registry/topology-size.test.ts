// Ten thousand agents in the shapes that break recursion, paths and quadratic lists.
import { expect, test } from 'vitest';
import type { TopologyAgent, TopologyNode } from '#contracts';
import { checkTopology } from '#core/registry';
import { agent, server } from './topology-agents.ts';

const size = 10_000;
const half = size / 2;
const all = Array.from({ length: size }, (_, place) => place);

/** Each agent holds a secret and a tool of its own, and reads untrusted text. */
const team = (below: (place: number) => readonly number[]): readonly TopologyAgent[] =>
  all.map((place) =>
    agent(
      `a${place}`,
      below(place).map((other) => `a${other}`),
      { tools: [`t${place}`], servers: [server(`s${place}`, { variables: [`V${place}`], untrustedText: true })] },
    ),
  );

const shapes: readonly (readonly [name: string, below: (place: number) => readonly number[]])[] = [
  ['a chain', (place) => (place + 1 < size ? [place + 1] : [])],
  ['a ring', (place) => [(place + 1) % size]],
  ['one above all others', (place) => (place === 0 ? all.slice(1) : [])],
  ['half above one above half', (place) => (place < half ? [half] : place === half ? all.slice(half + 1) : [])],
  ['a ladder of diamonds', (place) => [place + 2 - (place % 2), place + 3 - (place % 2)].filter((one) => one < size)],
  ['pairs that refer to each other', (place) => [place ^ 1]],
  ['nine references each', (place) => Array.from({ length: 9 }, (_, step) => (place * 7 + step * 1_111) % size)],
];

const belowIn = (shape: string) => shapes.find(([name]) => name === shape)![1];

const nodesIn = (nodes: readonly TopologyNode[]): number =>
  nodes.reduce((sum, node) => sum + 1 + nodesIn(node.agents), 0);

// invariants: worst-case-proportional, topology-linear
test.each(shapes)('ten thousand agents give a topology of bounded size: %s', (_name, below) => {
  const agents = team(below);
  const { tree, cycles, warnings, reach, worstCase } = checkTopology(agents, []);
  expect(nodesIn(tree)).toBeLessThanOrEqual(10_000);
  expect(cycles.length).toBeLessThanOrEqual(half + 100);
  const secrets = warnings.filter(({ code }) => code === 'untrusted-reaches-secret');
  expect(secrets.length).toBeGreaterThan(0);
  expect(secrets.length).toBeLessThanOrEqual(51);
  expect(Object.keys(reach)).toHaveLength(size);
  expect(worstCase.agents).toBeGreaterThanOrEqual(1);
  expect(JSON.stringify({ tree, cycles, warnings, reach }).length).toBeLessThan(20_000_000);
});

test('a truncated tree states how many agents it omits', () => {
  const { tree } = checkTopology(team(belowIn('one above all others')), []);
  expect(tree[0]?.agents).toHaveLength(5_000);
  expect(tree[0]?.agents.at(-1)).toEqual({ name: '… 5000 more', file: '', agents: [] });
});

test('a truncated list of names states how many names it omits', () => {
  const { reach } = checkTopology(team(belowIn('half above one above half')), []);
  const lists = Object.values(reach)
    .slice(0, half)
    .map(({ through: { tools } }) => tools);
  const missing = lists.filter((names) => names.at(-1)?.startsWith('… ') === true);
  expect(missing.length).toBeGreaterThan(0);
  for (const names of missing) {
    const [, more = '0'] = /^… (\d+) more$/u.exec(names.at(-1)!) ?? [];
    expect(names.length - 1 + Number(more)).toBe(half);
  }
});

// invariants: worst-case-never-less, worst-case-proportional
test('with too many paths to follow, the worst case is computed as if agents could be below themselves', () => {
  const limits = { maxToolTurns: 1, maxToolCallsPerTurn: 2 };
  const names = Array.from({ length: 60 }, (_, place) => `a${place}`);
  const agents = names.map((name) => agent(name, names, { limits }));
  expect(checkTopology(agents, [], { depthMax: 2 }).worstCase).toMatchObject({ agents: 7, depth: 2 });
  expect(checkTopology(agents.slice(0, 2), [], { depthMax: 5 }).worstCase).toMatchObject({ agents: 3, depth: 1 });
  expect(checkTopology(agents, [], { depthMax: 64 }).worstCase).toMatchObject({ depth: 64 });
});
