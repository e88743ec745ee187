import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Topology, TopologyAgent, TopologyNode, Warning } from '#contracts';
import { checkTopology } from '#core/registry';
import { agent, fileOf, model, server } from './topology-agents.ts';

const check = (agents: readonly TopologyAgent[], roots: readonly string[] = [], depthMax?: number): Topology =>
  checkTopology(agents, roots.map(fileOf), depthMax === undefined ? {} : { depthMax });

const messages = ({ warnings }: Topology, code: Warning['code']): readonly string[] =>
  warnings.filter((warning) => warning.code === code).map(({ message }) => message);

test('a sound set of agents has no cycles and no warnings', () => {
  const { cycles, warnings } = check([agent('lead', ['scout', 'writer']), agent('scout'), agent('writer', ['scout'])]);
  expect({ cycles, warnings }).toEqual({ cycles: [], warnings: [] });
});

test('no agents give an empty topology', () => {
  expect(check([])).toEqual({
    cycles: [],
    worstCase: { agents: 0, depth: 0, tokens: 0, usd: 0 },
    reach: {},
    warnings: [],
    tree: [],
  });
});

// invariant: topology-pure
test('the given agents are not changed, and equal agents give equal topologies', () => {
  const agents = [agent('a', ['b', 'b']), agent('b', ['a'], { servers: [server('web', { untrustedText: true })] })];
  const before = structuredClone(agents);
  const topology = check(agents);
  expect(check(agents)).toEqual(topology);
  expect(agents).toEqual(before);
  expect(JSON.parse(JSON.stringify(topology))).toEqual(topology);
});

test.each<[what: string, agents: readonly TopologyAgent[], cycles: readonly (readonly string[])[]]>([
  ['itself', [agent('a', ['a'])], [['a', 'a']]],
  ['another', [agent('a', ['b']), agent('b', ['a'])], [['a', 'b', 'a']]],
  [
    'two paths round',
    [agent('a', ['b', 'c']), agent('b', ['c']), agent('c', ['a'])],
    [
      ['a', 'c', 'a'],
      ['b', 'c', 'a', 'b'],
    ],
  ],
  [
    'two cycles apart',
    [agent('lead', ['a', 'c']), agent('a', ['b']), agent('b', ['a']), agent('c', ['d']), agent('d', ['c'])],
    [
      ['a', 'b', 'a'],
      ['c', 'd', 'c'],
    ],
  ],
])('a cycle is shown with its path: %s', (_what, agents, cycles) => {
  expect(check(agents).cycles).toEqual(cycles);
});

/** A small set of agents with random references among them. */
const anyTeam = fc
  .integer({ min: 1, max: 8 })
  .chain((size) =>
    fc.array(fc.uniqueArray(fc.integer({ min: 0, max: size - 1 }), { maxLength: 4 }), {
      minLength: size,
      maxLength: size,
    }),
  )
  .map((edges) =>
    edges.map((to, place) =>
      agent(
        `a${place}`,
        to.map((other) => `a${other}`),
      ),
    ),
  );

const namesBelow = (agents: readonly TopologyAgent[], name: string, levels: number): ReadonlySet<string> => {
  const found = new Set<string>();
  let level = [name];
  for (let depth = 0; depth < levels; depth++) {
    level = level.flatMap((one) =>
      agents.flatMap((each) => (each.name === one ? each.agents.map((file) => file.slice(6, -3)) : [])),
    );
    for (const one of level) found.add(one);
    level = [...new Set(level)];
  }
  return found;
};

test('an agent is on a reported cycle exactly when it can be below itself, and each step is a reference', () =>
  fc.assert(
    fc.property(anyTeam, (agents) => {
      const { cycles } = check(agents);
      const cyclic = agents.filter(({ name }) => namesBelow(agents, name, agents.length).has(name));
      expect(new Set(cycles.flat())).toEqual(new Set(cyclic.map(({ name }) => name)));
      for (const cycle of cycles) {
        expect(cycle.at(-1)).toBe(cycle[0]);
        expect(new Set(cycle).size).toBe(cycle.length - 1);
        for (const [place, name] of cycle.slice(0, -1).entries())
          expect(agents.find((one) => one.name === name)!.agents).toContain(fileOf(cycle[place + 1]!));
      }
    }),
  ));

const holding = (agents: readonly TopologyAgent[]): readonly TopologyAgent[] =>
  agents.map((one) => ({
    ...one,
    tools: [`${one.name}/tool`, 'shared'],
    models: [model({ variables: ['KEY'] })],
    servers: [server(one.name, { variables: [`${one.name}_TOKEN`] })],
  }));

test('an agent reaches what it holds, and through agents up to three levels below what it does not hold itself', () =>
  fc.assert(
    fc.property(anyTeam, fc.integer({ min: 0, max: 5 }), (plain, depthMax) => {
      const agents = holding(plain);
      const { reach } = check(agents, [], depthMax);
      for (const { name } of agents) {
        const below = [...namesBelow(agents, name, depthMax)].filter((other) => other !== name).sort();
        expect(reach[name]).toEqual({
          env: ['KEY', `${name}_TOKEN`].sort(),
          servers: [name],
          tools: [`${name}/tool`, 'shared'].sort(),
          through: {
            env: below.map((other) => `${other}_TOKEN`),
            servers: below,
            tools: below.map((other) => `${other}/tool`),
          },
        });
      }
    }),
  ));

test('the reach list starts with the roots, whatever the order of the files', () => {
  expect(Object.keys(check([agent('low'), agent('mid', ['low']), agent('top', ['mid'])]).reach)).toEqual([
    'top',
    'mid',
    'low',
  ]);
});

test('more than 32 names are all listed', () => {
  const names = Array.from({ length: 100 }, (_, index) => `t${index}`).sort();
  const { reach } = check([agent('lead', ['worker']), agent('worker', [], { tools: names })]);
  expect(reach['lead']?.through.tools).toEqual(names);
});

test('two agents of the same name are both listed', () => {
  const { reach } = check([agent('a'), { ...agent('a'), file: '/other/a.ai' }]);
  expect(Object.keys(reach)).toEqual(['a', 'a (/other/a.ai)']);
});

const show = (nodes: readonly TopologyNode[]): string =>
  nodes.map(({ name, agents }) => (agents.length === 0 ? name : `${name}(${show(agents)})`)).join(' ');

test.each<[what: string, agents: readonly TopologyAgent[], roots: readonly string[], tree: string]>([
  ['agents that no other refers to', [agent('b'), agent('a', ['b']), agent('c')], [], 'a(b) c'],
  [
    'one agent of a cycle that no other refers to',
    [agent('x', ['y']), agent('y', ['x', 'z']), agent('z')],
    [],
    'x(y(x z))',
  ],
  ['the roots that were given', [agent('a', ['b']), agent('b', ['c']), agent('c')], ['b'], 'b(c)'],
  [
    'an agent in two places, expanded once at its highest place',
    [agent('lead', ['a', 'b']), agent('a', ['b']), agent('b', ['c']), agent('c')],
    [],
    'lead(a(b) b(c))',
  ],
  [
    'three levels down and no further',
    [agent('a', ['b']), agent('b', ['c']), agent('c', ['d']), agent('d', ['e']), agent('e')],
    [],
    'a(b(c(d)))',
  ],
  ['an agent whose references to missing files are omitted', [agent('a', ['gone'])], [], 'a'],
])('the tree starts with %s', (_what, agents, roots, tree) => {
  expect(show(check(agents, roots).tree)).toBe(tree);
});

const browser = (agents: readonly string[] = []): TopologyAgent =>
  agent('browser', agents, { servers: [server('web', { untrustedText: true })] });
const deployer = (agents: readonly string[] = []): TopologyAgent =>
  agent('deployer', agents, { servers: [server('deploy', { variables: ['DEPLOY_TOKEN'] })] });

test('untrusted text can move up as a result and down as a goal, and the path is named', () => {
  const topology = check([agent('lead', ['browser', 'deployer']), browser(), deployer()]);
  expect(topology.warnings).toEqual([
    {
      code: 'untrusted-reaches-secret',
      agent: 'deployer',
      message: 'text fetched by `browser` can reach `deployer`, which holds DEPLOY_TOKEN: browser → lead → deployer',
    },
  ]);
});

test.each<[what: string, agents: readonly TopologyAgent[], way: string]>([
  ['up to its parent', [deployer(['browser']), browser()], 'browser → deployer'],
  ['down to its child', [browser(['deployer']), deployer()], 'browser → deployer'],
  [
    'through the nearest common ancestor',
    [agent('lead', ['mid']), agent('mid', ['a', 'deployer']), agent('a', ['browser']), browser(), deployer()],
    'browser → a → mid → deployer',
  ],
  [
    'by the shorter of two paths',
    [agent('lead', ['mid', 'deployer', 'browser']), agent('mid', ['browser']), browser(), deployer()],
    'browser → lead → deployer',
  ],
  [
    'through agents that can be started',
    [
      agent('lead', ['p', 'q', 'x']),
      agent('p', ['browser']),
      agent('q', ['deployer']),
      agent('x', ['y']),
      agent('y', ['deep']),
      agent('deep', ['browser', 'deployer']),
      browser(),
      deployer(),
    ],
    'browser → p → lead → q → deployer',
  ],
])('the path goes %s', (_what, agents, way) => {
  expect(messages(check(agents), 'untrusted-reaches-secret')).toEqual([expect.stringContaining(`: ${way}`)]);
});

test('an agent that both reads untrusted text and holds a server’s secret needs no path', () => {
  const both = agent('both', [], { servers: [server('hub', { variables: ['HUB_TOKEN'], untrustedText: true })] });
  expect(messages(check([both]), 'untrusted-reaches-secret')).toEqual([
    'text fetched by `both` reaches the same agent’s servers, which hold HUB_TOKEN',
  ]);
});

test.each<[what: string, agents: readonly TopologyAgent[], roots: readonly string[]]>([
  ['are in two trees', [browser(), deployer()], []],
  ['share a child only', [browser(['c']), deployer(['c']), agent('c')], []],
  ['are in a tree below no given root', [agent('lead', ['browser', 'deployer']), browser(), deployer()], ['browser']],
  [
    'are too deep for both to be started',
    [
      agent('lead', ['a', 'deployer']),
      agent('a', ['b']),
      agent('b', ['c']),
      agent('c', ['browser']),
      browser(),
      deployer(),
    ],
    [],
  ],
  [
    'hold nothing but a provider’s key',
    [agent('lead', ['browser'], { models: [model({ variables: ['OPENAI_API_KEY'] })] }), browser()],
    [],
  ],
])('there is no such warning when reader and holder %s', (_what, agents, roots) => {
  expect(messages(check(agents, roots), 'untrusted-reaches-secret')).toEqual([]);
});

test('there is a warning for a reader and a holder exactly when one root can start both', () =>
  fc.assert(
    fc.property(
      anyTeam,
      fc.integer({ min: 0, max: 4 }),
      fc.array(fc.boolean(), { minLength: 16, maxLength: 16 }),
      (plain, depthMax, flags) => {
        const agents = plain.map((one, place) => ({
          ...one,
          servers: [
            server('web', { untrustedText: flags[place]! }),
            server('x', { variables: flags[place + 8] ? ['X'] : [] }),
          ],
        }));
        const topology = check(agents, [], depthMax);
        const expected = new Set<string>();
        for (const { name: root } of topology.tree) {
          const tree = [root, ...namesBelow(agents, root, depthMax)];
          for (const [place, { name: reader }] of agents.entries())
            for (const [other, { name: holder }] of agents.entries())
              if (flags[place]! && flags[other + 8]! && tree.includes(reader) && tree.includes(holder))
                expected.add(`${reader} ${holder}`);
        }
        const found = messages(topology, 'untrusted-reaches-secret').map((message) => {
          const names = [...message.matchAll(/`(a\d)`/gu)].map(([, name]) => name!);
          return `${names[0]} ${names.at(-1)}`;
        });
        // Two of them fit into one message only when there are more than are shown.
        if (expected.size > 50) expect(found.slice(0, 50).every((pair) => expected.has(pair))).toBe(true);
        else expect(found.toSorted()).toEqual([...expected].sort());
        for (const message of messages(topology, 'untrusted-reaches-secret')) {
          const way = message.split(': ')[1]?.split(' → ') ?? [];
          const names = (name: string, other: string): boolean =>
            agents.find((one) => one.name === name)!.agents.includes(fileOf(other));
          let turned = 0;
          for (const [place, name] of way.slice(0, -1).entries()) {
            const next = way[place + 1]!;
            expect(names(next, name) || names(name, next)).toBe(true);
            if (turned === 0 && !names(next, name)) turned = 1;
            if (turned === 1) expect(names(name, next)).toBe(true);
          }
        }
      },
    ),
  ));

test('of many such pairs fifty are shown, and how many more there are', () => {
  const names = Array.from({ length: 30 }, (_, index) => `w${index}`);
  const servers = [server('web', { untrustedText: true }), server('x', { variables: ['X'] })];
  const topology = check([agent('lead', names), ...names.map((name) => agent(name, [], { servers }))]);
  const shown = messages(topology, 'untrusted-reaches-secret');
  expect(shown).toHaveLength(51);
  expect(shown.at(-1)).toMatch(/^and 850 more pairs/u);
});

test.each<[code: Warning['code'], over: Partial<TopologyAgent>, message: RegExp]>([
  ['tools-not-named', { explicit: { tools: false, timeout: true } }, /^`helper` lists no tools, so it has none/u],
  ['timeout-not-set', { explicit: { tools: true, timeout: false } }, /^`helper` sets no timeout, .* 600000 ms/u],
  [
    'timeout-not-set',
    { explicit: { tools: true, timeout: false }, limits: { timeout_ms: 5_000 } },
    /^`helper` sets no timeout, .* 5000 ms/u,
  ],
  ['description-vague', { description: 'Helps a lot.' }, /^`helper` is described in 12 characters/u],
  ['description-vague', { description: 'Finds out what there is to know about LEAD!' }, /same description as `lead`/u],
])('a child gets a warning: %s', (code, over, message) => {
  const child = { ...agent('helper'), ...over };
  expect(check([agent('lead', ['helper']), child]).warnings).toEqual([
    { code, agent: 'helper', message: expect.stringMatching(message) },
  ]);
  expect(check([agent('lead'), child]).warnings).toEqual([]);
});

test('a name does not count as a description, however long', () => {
  const name = 'the-very-long-named-helper';
  const { warnings } = check([agent('lead', [name]), agent(name, [], { description: 'The very long-named helper.' })]);
  expect(warnings).toEqual([
    { code: 'description-vague', agent: name, message: expect.stringContaining('only by its name') },
  ]);
});

test('a model without a price gets a warning under a cost budget, its own or that of any ancestor', () => {
  const free = { models: [model(), model({ name: 'local/llama', price: null })] };
  const chain = (budget: TopologyAgent['budget']) => [
    agent('lead', ['mid'], { budget }),
    agent('mid', ['low']),
    agent('low', [], free),
    agent('apart', [], free),
  ];
  expect(check(chain({ usd: 1 })).warnings).toEqual([
    {
      code: 'unpriced',
      agent: 'low',
      message: expect.stringMatching(/`local\/llama`.*under the `lead` agent’s dollar budget/u),
    },
  ]);
  expect(check(chain({ tokens: 1 })).warnings).toEqual([]);
  const capped = { ...free, budget: { usd: 0 } };
  expect(
    messages(check([agent('lead', ['low'], { budget: { usd: 1 } }), agent('low', [], capped)]), 'unpriced'),
  ).toEqual([expect.stringContaining('under its dollar budget')]);
});

test('an agent that no given root reaches gets a warning; without given roots none does', () => {
  const agents = [agent('a', ['b']), agent('b'), agent('c')];
  expect(check(agents, ['a']).warnings).toEqual([
    { code: 'not-reached', agent: 'c', message: '`c` cannot be reached from the given agents' },
  ]);
  expect(check(agents).warnings).toEqual([]);
});

test('an agent that is too deep to be started gets a warning', () => {
  const agents = [agent('a', ['b']), agent('b', ['c']), agent('c', ['d']), agent('d', ['e']), agent('e')];
  expect(check(agents).warnings).toEqual([
    { code: 'not-reached', agent: 'e', message: expect.stringContaining('`e` is 4 levels down') },
  ]);
  expect(check(agents, [], 4).warnings).toEqual([]);
});
