import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { boxSize, layOutGraph } from '../../../src/core/tasks/lay-out-graph.ts';
import type { Layout } from '../../../src/core/tasks/lay-out-graph.ts';
import { chain, fanOutAndIn, graph, linksIn } from './draw-graphs.ts';

const acyclic = graph({ tasksMax: 40, isAcyclic: true });
const anyGraph = graph({ tasksMax: 40, isAcyclic: false });
const runs = { numRuns: 40 };
/** Tolerance: positions are sums of fractions. */
const tolerance = 1e-6;

const overlaps = ({ boxes }: Layout): number =>
  boxes.reduce(
    (sum, one, place) =>
      sum +
      boxes
        .slice(place + 1)
        .filter(
          (other) =>
            Math.abs(one.x - other.x) < boxSize.width - tolerance &&
            Math.abs(one.y - other.y) < boxSize.height - tolerance,
        ).length,
    0,
  );

test('no two boxes overlap, and all are within the page', () => {
  fc.assert(
    fc.property(anyGraph, (tasks) => {
      const layout = layOutGraph(tasks);
      expect(layout.boxes).toHaveLength(tasks.length);
      expect(overlaps(layout)).toBe(0);
      for (const { x, y } of layout.boxes) {
        expect(Math.min(x, y)).toBeGreaterThanOrEqual(-tolerance);
        expect(x + boxSize.width).toBeLessThanOrEqual(layout.width + tolerance);
        expect(y + boxSize.height).toBeLessThanOrEqual(layout.height + tolerance);
      }
    }),
    runs,
  );
});

test('a dependent is in a later layer, and its line starts and ends at the two boxes, or at a stem', () => {
  fc.assert(
    fc.property(acyclic, (tasks) => {
      const { boxes, lines } = layOutGraph(tasks);
      expect(lines.map(({ from, to }) => `${tasks[from]?.id} > ${tasks[to]?.id}`)).toEqual(linksIn(tasks));
      for (const { from, to } of lines) expect(boxes[to]!.layer).toBeGreaterThan(boxes[from]!.layer);
    }),
    runs,
  );
});

test('lines pass between the boxes of the layers they cross', () => {
  fc.assert(
    fc.property(acyclic, (tasks) => {
      const { boxes, lines, stems } = layOutGraph(tasks);
      for (const { points } of [...lines, ...stems]) {
        const [, , , enter, leave] = points;
        if (enter === undefined || leave === undefined) continue;
        const crossed = boxes.filter(
          ({ x, y }) =>
            Math.min(enter[0], leave[0]) < x + boxSize.width &&
            Math.max(enter[0], leave[0]) > x &&
            Math.min(enter[1], leave[1]) < y + boxSize.height &&
            Math.max(enter[1], leave[1]) > y,
        );
        expect(crossed).toEqual([]);
      }
    }),
    runs,
  );
});

// invariant: route-stem-one-task
test('following lines and stems from a task leads to all its dependents, and to no other task', () => {
  fc.assert(
    fc.property(acyclic, (tasks) => {
      const { boxes, lines, stems } = layOutGraph(tasks);
      const pieces = [...lines, ...stems].map(({ points, isHead }) => ({
        start: String(points[0]),
        end: String(points.at(-1)),
        isHead,
      }));
      const leaving = Map.groupBy(pieces, ({ start }) => start);
      const isDown = lines.some(({ points }) => points[0]![0] === points[1]![0]);
      const starts = boxes.map(
        ({ x, y }) =>
          [
            isDown ? x + boxSize.width / 2 : x + boxSize.width,
            isDown ? y + boxSize.height : y + boxSize.height / 2,
          ] as const,
      );
      const ends = boxes.map(
        ({ x, y }) => [isDown ? x + boxSize.width / 2 : x, isDown ? y : y + boxSize.height / 2] as const,
      );
      const near = (one: readonly number[], other: readonly number[]) =>
        Math.hypot(one[0]! - other[0]!, one[1]! - other[1]!) < tolerance;
      for (const [place, start] of starts.entries()) {
        const reached = new Set<number>();
        const first = [...lines, ...stems]
          .filter(({ points }) => near(points[0]!, start))
          .map(({ points }) => String(points[0]));
        const next = [...new Set(first)];
        for (const from of next)
          for (const { end, isHead } of leaving.get(from) ?? []) {
            if (!isHead) next.push(end);
            else reached.add(ends.findIndex((box) => near(box, end.split(',').map(Number))));
          }
        const wanted = lines.filter(({ from }) => from === place).map(({ to }) => to);
        expect(reached).toEqual(new Set(wanted));
      }
    }),
    runs,
  );
});

test('a chain is one straight vertical line', () => {
  const { boxes, width } = layOutGraph(chain(6));
  expect(width).toBe(boxSize.width);
  expect(boxes.map(({ x }) => Math.abs(x) < tolerance)).toEqual(boxes.map(() => true));
});

test('a page has roughly the shape of a screen, also with hundreds of tasks side by side', () => {
  for (const width of [40, 200, 900]) {
    const page = layOutGraph(fanOutAndIn(width));
    expect(Math.max(page.width / page.height, page.height / page.width)).toBeLessThan(3);
  }
});

test('two groups that share a task on each side of a third one have the minimum of crossing lines', () => {
  const task = (id: string, ...dependsOn: string[]) =>
    ({ id, title: id, assignee: null, status: 'ready', dependsOn }) as const;
  // In the listed order, all lines would cross.
  const { boxes } = layOutGraph([task('a'), task('b'), task('c'), task('x', 'c'), task('y', 'b'), task('z', 'a')]);
  const along = boxes.map(({ x, y }) => x + y * 1000);
  const order = (places: readonly number[]) => [...places].sort((one, other) => along[one]! - along[other]!);
  expect(order([0, 1, 2]).map((place) => 5 - place)).toEqual(order([3, 4, 5]));
});

test('a graph with cycles is drawn too, with every task and every dependency', () => {
  const { boxes, lines } = layOutGraph(
    chain(5).map((task, place) => (place === 0 ? { ...task, dependsOn: ['c4'] } : task)),
  );
  expect(boxes.map(({ layer }) => layer)).toEqual([0, 1, 2, 3, 4]);
  expect(lines).toHaveLength(5);
});
