import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { DrawableTask } from '#contracts';
import { drawMermaid } from '../../../src/core/tasks/draw-mermaid.ts';
import { drawSvg } from '../../../src/core/tasks/draw-svg.ts';
import { chain, fanOutAndIn, graph, linksIn, statuses } from './draw-graphs.ts';
import { elementsOf, readXml } from './draw-xml.ts';
import type { Element } from './draw-xml.ts';

const anyGraph = graph({ tasksMax: 40, isAcyclic: false });
const runs = { numRuns: 40 };
const one = (changes: Partial<DrawableTask>): DrawableTask => ({
  id: 'a',
  title: 'A',
  assignee: null,
  dependsOn: [],
  status: 'ready',
  ...changes,
});

const classOf = (element: Element): readonly string[] => (element.attributes['class'] ?? '').split(' ');
const ofClass = (svg: string, name: string): readonly Element[] =>
  elementsOf(readXml(svg)).filter((element) => classOf(element).includes(name));
/** The text of a box, and its tooltip. */
const boxTexts = (box: Element) => ({
  tooltip: box.children.find(({ name }) => name === 'title')?.text ?? '',
  texts: elementsOf(box)
    .filter(({ name }) => name === 'text')
    .map(({ text }) => text),
});

// invariants: svg-group-per-task, route-segment-per-edge
test('an SVG has one box per task and one line per dependency, and no markup from texts', () => {
  const allowed = 'svg title desc style rect defs marker clipPath path g text'.split(' ');
  const attributes =
    'xmlns class role aria-labelledby id width height viewBox x y rx d transform text-anchor clip-path marker-end refX refY markerWidth markerHeight markerUnits orient'.split(
      ' ',
    );
  fc.assert(
    fc.property(anyGraph, (tasks) => {
      const svg = drawSvg(tasks);
      const elements = elementsOf(readXml(svg));
      expect(elements.filter((element) => classOf(element).includes('task'))).toHaveLength(tasks.length);
      expect(elements.filter((element) => classOf(element).includes('link'))).toHaveLength(linksIn(tasks).length);
      expect(elements.map(({ name }) => name).filter((name) => !allowed.includes(name))).toEqual([]);
      const keys = elements.flatMap((element) => Object.keys(element.attributes));
      expect(keys.filter((key) => !attributes.includes(key))).toEqual([]);
    }),
    runs,
  );
});

test('an SVG has a name, a description and a size', () => {
  const root = readXml(drawSvg(fanOutAndIn(3)));
  expect(root.attributes['xmlns']).toBe('http://www.w3.org/2000/svg');
  expect(root.attributes['viewBox']).toBe(`0 0 ${root.attributes['width']} ${root.attributes['height']}`);
  const [title, description] = root.children;
  expect(title).toMatchObject({ name: 'title', text: 'A graph of 5 tasks' });
  expect(description?.text).toBe('5 ready; 6 dependencies. Arrows point from a task to the tasks that depend on it.');
  expect(root.attributes['aria-labelledby']).toBe(`${title?.attributes['id']} ${description?.attributes['id']}`);
});

test('a box shows the text of its task unchanged', () => {
  const text = `<b>"x" & 'y'</b> ]]> &lt; 界`;
  const reason = { code: 'failed', text: 'because <of> it' } as const;
  const [box] = ofClass(drawSvg([one({ title: text, assignee: '<me>', status: 'failed', reason })]), 'task');
  expect(boxTexts(box!)).toEqual({
    tooltip: `${text}\nfailed, <me>\nbecause <of> it`,
    texts: ['failed', '<me>', expect.any(String), expect.any(String)],
  });
  expect(boxTexts(box!).texts.slice(2).join(' ')).toBe(text);
});

// invariant: svg-not-by-colour
test('every status has its own label, symbol and colours, in light and dark mode', () => {
  const svg = drawSvg(statuses.map((status, place) => one({ id: String(place), status })));
  const boxes = ofClass(svg, 'task');
  expect(boxes.map((box) => boxTexts(box).texts[0])).toEqual([...statuses]);
  const signs = boxes.map((box) => box.children.find((child) => classOf(child).includes('sign'))?.attributes['d']);
  expect(new Set(signs).size).toBe(statuses.length);
  const [light, dark] = readXml(svg)
    .children.find(({ name }) => name === 'style')!
    .text.split('@media (prefers-color-scheme:dark)');
  for (const rules of [light, dark]) {
    const colours = statuses.map(
      (status) => new RegExp(String.raw`\.${status} \.box\{fill:[^}]*\}`, 'u').exec(rules!)?.[0],
    );
    expect(new Set(colours.map((rule) => rule?.split('{')[1])).size).toBe(statuses.length);
  }
});

test('a title that is too long is wrapped between words, and ends with an ellipsis on the second line', () => {
  const title = 'Read the sources and note what they say about the price of tea in the last forty years';
  const [, , first = '', second = '', ...more] = boxTexts(ofClass(drawSvg([one({ title })]), 'task')[0]!).texts;
  expect(more).toEqual([]);
  expect(title.startsWith(`${first} ${second.slice(0, -1)}`)).toBe(true);
  expect(second.at(-1)).toBe('…');
  const [, , only] = boxTexts(ofClass(drawSvg([one({ title: '👩‍👩‍👧'.repeat(100) })]), 'task')[0]!).texts;
  expect(only?.replaceAll('👩‍👩‍👧', '')).toBe('');
});

test('a huge title costs no more than a long one', () => {
  expect(drawSvg([one({ title: 'x'.repeat(5_000_000) })]).length).toBeLessThan(10_000);
  expect(drawMermaid([one({ title: '#'.repeat(5_000_000) })]).length).toBeLessThan(2000);
});

test('2,000 tasks in any shape are drawn; with more tasks or too many dependencies, counts are shown', () => {
  for (const tasks of [chain(2000), fanOutAndIn(1998)]) expect(ofClass(drawSvg(tasks), 'task')).toHaveLength(2000);
  const many = drawSvg([...chain(2500), one({ status: 'failed' })]);
  expect(ofClass(many, 'task')).toHaveLength(0);
  expect(ofClass(many, 'total')[0]?.text).toBe('2,501 tasks');
  expect(ofClass(many, 'faint')[0]?.text).toBe('Too many tasks to draw individually: the limit is 2,000.');
  const counts = ofClass(many, 'count').map((row) => row.children.flatMap(({ text }) => (text === '' ? [] : [text])));
  expect(counts).toEqual([
    ['pending', '2,500'],
    ['failed', '1'],
  ]);

  const all = chain(150).map((task, place, tasks) => ({
    ...task,
    dependsOn: tasks.slice(0, place).map(({ id }) => id),
  }));
  expect(ofClass(drawSvg(all), 'faint')[0]?.text).toContain('11,175, and the limit is 10,000');
  expect(drawSvg(chain(100_000))).toContain('100,000 pending');
  expect(ofClass(drawSvg([]), 'total')[0]?.text).toBe('0 tasks');
});

test('the same tasks give the same drawings', () => {
  fc.assert(
    fc.property(anyGraph, (tasks) => {
      const copy = structuredClone(tasks);
      expect(drawSvg(copy)).toBe(drawSvg(tasks));
      expect(drawMermaid(copy)).toBe(drawMermaid(tasks));
      expect(copy).toEqual(tasks);
    }),
    runs,
  );
});

const decoded = (label: string): string =>
  label.replace(/#(\d+);/gu, (_, code: string) => String.fromCodePoint(Number(code)));

// invariant: mermaid-lines-by-tasks
test('Mermaid has one line per task, per dependency and per status, whatever the texts contain', () => {
  const node = /^ {2}t(\d+)\["([\p{L}\p{M}\p{Nd} ,]|#\d+;|<br>)*"\]:::[a-z]+$/u;
  fc.assert(
    fc.property(anyGraph, (tasks) => {
      const lines = drawMermaid(tasks).split(/[\n\r\u0085\u2028\u2029]/u);
      const links = linksIn(tasks);
      expect(lines).toHaveLength(1 + tasks.length + links.length + statuses.length + 1);
      expect(lines[0]).toBe('flowchart TD');
      const nodes = lines.slice(1, 1 + tasks.length);
      expect(nodes.map((line) => node.exec(line)?.[1])).toEqual(tasks.map((_, place) => String(place)));
      expect(nodes.filter((line) => line.split('<br>').length !== 2)).toEqual([]);
      const drawn = lines.slice(1 + tasks.length, 1 + tasks.length + links.length);
      const edges = drawn.map((line) => line.replace(/^ {2}t(\d+) --> t(\d+)$/u, 'task $1 > task $2'));
      expect(edges).toEqual(links);
    }),
    runs,
  );
});

test('Mermaid shows the title, the assignee and the status unchanged', () => {
  const lines = drawMermaid([one({ title: 'a "b" [c] --> #d; 1. 界', assignee: 'e<f>', status: 'failed' })]).split(
    '\n',
  );
  expect(decoded(lines[1]!)).toBe('  t0["a "b" [c] --> #d; 1. 界<br>e<f>, failed"]:::failed');
  expect(lines.filter((line) => line.startsWith('  classDef failed fill:#'))).toHaveLength(1);
});
