// The drawing of tasks and agents: on generated graphs, no line runs over a box that it does not belong to.
import { expect, test } from 'vitest';
import { layOutGraph } from '../../web/src/panes/graph-layout.ts';
import type { GraphEdge, GraphLayout, GraphNode, PlacedEdge } from '../../web/src/panes/graph-layout.ts';
import { testRandom } from './random.ts';

const sizes = { width: 178, height: 102, rowGap: 24, label: 54, margin: 24 };

/** A team, its tasks in up to six columns with dependencies on earlier ones, and an answer that sees all. */
const generatedTeam = (seed: number): { nodes: readonly GraphNode[]; edges: readonly GraphEdge[] } => {
  const { below } = testRandom(seed);
  const count = 1 + below(24);
  const columns = 1 + below(6);
  const tasks: GraphNode[] = [];
  const edges: GraphEdge[] = [];
  for (let at = 0; at < count; at++) {
    const id = `t${at}`;
    const before = tasks.filter(({ column }) => column < columns);
    const sources = Array.from({ length: below(4) }, () => before[below(before.length || 1)]).filter(
      (one) => one !== undefined,
    );
    const unique = [...new Set(sources)];
    const column = 1 + Math.max(0, ...unique.map((one) => one.column));
    tasks.push({ id, column });
    edges.push({ id: `goal ${id}`, from: 'team', to: id, bus: true });
    for (const source of unique) edges.push({ id: `${source.id}-${id}`, from: source.id, to: id });
  }
  const last = 1 + Math.max(...tasks.map(({ column }) => column));
  for (const { id } of tasks) edges.push({ id: `answer ${id}`, from: id, to: 'answer' });
  return { nodes: [{ id: 'team', column: 0 }, ...tasks, { id: 'answer', column: last }], edges };
};

const layouts = Array.from({ length: 400 }, (_, seed) => {
  const { nodes, edges } = generatedTeam(seed);
  return { nodes, edges, layout: layOutGraph(nodes, edges, sizes) };
});

type Box = { readonly x: number; readonly y: number; readonly width: number; readonly height: number };
type Line = { readonly edge: PlacedEdge; readonly box: Box };

const linesOf = ({ edges }: GraphLayout): readonly Line[] =>
  edges.flatMap((edge) =>
    edge.points.slice(1).map(([x, y], at) => {
      const [fromX, fromY] = edge.points[at]!;
      const box = {
        x: Math.min(x, fromX),
        y: Math.min(y, fromY),
        width: Math.abs(x - fromX),
        height: Math.abs(y - fromY),
      };
      return { edge, box };
    }),
  );

const overlap = (one: Box, other: Box): boolean =>
  one.x < other.x + other.width &&
  other.x < one.x + one.width &&
  one.y < other.y + other.height &&
  other.y < one.y + one.height;

/** As wide as it is drawn. */
const drawn = ({ x, y, width, height }: Box): Box => ({ x: x - 1, y: y - 1, width: width + 2, height: height + 2 });

// invariant: graph-lines-clear
test('no line runs over a box that it does not belong to', () => {
  let lines = 0;
  for (const { layout } of layouts)
    for (const { edge, box } of linesOf(layout)) {
      lines++;
      const met = layout.nodes.filter((node) => overlap(drawn(box), node)).map(({ id }) => id);
      expect(met.filter((id) => id !== edge.from && id !== edge.to)).toEqual([]);
    }
  expect(lines).toBeGreaterThan(10_000);
});

test('every line begins in the box of its sender and ends in that of its reader, entering each once', () => {
  for (const { layout } of layouts)
    for (const { from, to, points } of layout.edges) {
      const holds = (id: string, [x, y]: readonly [number, number]): boolean => {
        const { x: left, y: top, width, height } = layout.nodes.find((node) => node.id === id)!;
        return x > left && x < left + width && y > top && y < top + height;
      };
      expect([holds(from, points[0]!), holds(to, points.at(-1)!)]).toEqual([true, true]);
      expect(points.slice(1, -1).filter((point) => holds(from, point) || holds(to, point))).toEqual([]);
    }
});

test('boxes do not touch each other', () => {
  for (const { layout } of layouts)
    for (const [at, one] of layout.nodes.entries())
      for (const other of layout.nodes.slice(at + 1)) expect(overlap(one, other), `${one.id} ${other.id}`).toBe(false);
});

// invariant: graph-lines-clear
test('no two lines lie on each other, except those of the team', () => {
  for (const [seed, { layout }] of layouts.entries()) {
    const lines = linesOf(layout).filter(({ edge }) => edge.bus !== true);
    for (const [at, one] of lines.entries())
      for (const other of lines.slice(at + 1)) {
        if (one.edge === other.edge) continue;
        const isLevel = one.box.height === 0 && other.box.height === 0 && one.box.y === other.box.y;
        const isUpright = one.box.width === 0 && other.box.width === 0 && one.box.x === other.box.x;
        if (!isLevel && !isUpright) continue;
        expect(overlap(drawn(one.box), drawn(other.box)), `${seed}: ${one.edge.id} on ${other.edge.id}`).toBe(false);
      }
  }
});

test('the label of a line stands clear of every upright line and of every box', () => {
  for (const { layout } of layouts) {
    const upright = linesOf(layout).filter(({ box }) => box.width === 0);
    for (const {
      label: [x, y],
    } of layout.edges) {
      const text = { x: x - 44, y: y - 9, width: 44, height: 11 };
      expect(upright.filter(({ box }) => overlap(drawn(box), text))).toEqual([]);
      expect(layout.nodes.filter((node) => overlap(node, text))).toEqual([]);
    }
  }
});

test('a line that leads back to an earlier column is left out', () => {
  const nodes = [
    { id: 'a', column: 0 },
    { id: 'b', column: 1 },
  ];
  const { edges } = layOutGraph(
    nodes,
    [
      { id: 'x', from: 'b', to: 'a' },
      { id: 'y', from: 'a', to: 'b' },
    ],
    sizes,
  );
  expect(edges.map(({ id }) => id)).toEqual(['y']);
});

test('a graph without boxes has no size beyond its margins', () => {
  expect(layOutGraph([], [], sizes)).toMatchObject({ nodes: [], edges: [] });
});
