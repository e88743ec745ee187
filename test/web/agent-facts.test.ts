// What the page says of agents.
import { expect, test } from 'vitest';
import { budgetText } from '#headends/run-view';
import { agentGraphs, listText, warningTexts, worstCaseText } from '../../web/src/agents/agent-facts.ts';
import { layOutGraph } from '../../web/src/panes/graph-layout.ts';

const edge = (from: string, to: string, kind = 'calls') => ({ from, to, kind });

const graphsOf = (names: readonly string[], edges: readonly ReturnType<typeof edge>[]) =>
  agentGraphs({ agents: names.map((name) => ({ name })), topology: { edges } }).map(({ nodes }) =>
    nodes.map(({ id, column }) => `${id} ${column}`).join(', '),
  );

test('agents that have to do with each other are drawn together, callers before those they call', () => {
  const edges = [
    edge('lead', 'a'),
    edge('lead', 'b'),
    edge('a', 'b'),
    edge('desk', 'office'),
    edge('x', 'lead', 'messages'),
  ];
  expect(graphsOf(['lead', 'desk', 'x'], edges)).toEqual(['lead 0, x 0, a 1, b 2', 'desk 0, office 1']);
});

test('agents that call each other in a circle are still drawn, each once', () => {
  const graphs = graphsOf(['a', 'b', 'c'], [edge('a', 'b'), edge('b', 'c'), edge('c', 'a'), edge('a', 'a')]);
  expect(graphs).toHaveLength(1);
  expect(graphs[0]!.split(', ')).toHaveLength(3);
});

test('without a topology, each agent’s own list says whom it calls', () => {
  const [graph] = agentGraphs({ agents: [{ name: 'lead', agents: ['a', 'b'] }, { name: 'a' }] });
  expect(graph!.edges.map(({ from, to }) => `${from} ${to}`)).toEqual(['lead a', 'lead b']);
});

test('calls of two agents never share a line', () => {
  const edges = ['a', 'b', 'c'].flatMap((from) => ['x', 'y', 'z'].map((to) => edge(from, to)));
  const [graph] = agentGraphs({ agents: [], topology: { edges } });
  const layout = layOutGraph(graph!.nodes, graph!.edges, { width: 100, height: 50, rowGap: 10, label: 0, margin: 10 });
  const tracks = Map.groupBy(
    layout.edges.filter(({ points }) => points.length > 2),
    ({ points }) => points[1]![0],
  );
  expect([...tracks.values()].every((same) => new Set(same.map(({ from }) => from)).size === 1)).toBe(true);
  expect(tracks.size).toBeGreaterThan(1);
});

test('the worst case is told in words, also where nothing limits it', () => {
  expect(worstCaseText({ agents: 4, tokens: 200_000, usd: 1 })).toBe(
    'Worst case for one run, if every model uses all it may: 4 agents, 200,000 tokens, $1.0000.',
  );
  expect(worstCaseText({ agents: null, tokens: null, usd: null })).toContain('without a known limit');
  expect([worstCaseText(null), worstCaseText(undefined)]).toEqual(['', '']);
});

test('lists and rules become text, whatever form they come in', () => {
  expect(listText(['a', 'b'])).toBe('a, b');
  expect(listText({ hear: ['x'], say: ['x', 'y'] })).toBe('hear x, say x, y');
  expect(listText({ 'mail/send': {}, write_file: true })).toBe('mail/send, write_file');
  expect([listText(null), listText([]), listText(false), listText(undefined)]).toEqual(['', '', '', '']);
});

test('budgets and warnings are told in words', () => {
  expect(budgetText({ tokens: 50_000, usd: 0.1, spawns: 1, ms: 90_000 })).toBe('50,000 tokens, $0.1, 1m30s, 1 agent');
  expect(budgetText({})).toBe('');
  expect(warningTexts({ agents: [], topology: { problems: ['p'], warnings: [{ code: 'c', message: 'w' }] } })).toEqual([
    'p',
    'w',
  ]);
  expect(warningTexts({ agents: [] })).toEqual([]);
});
