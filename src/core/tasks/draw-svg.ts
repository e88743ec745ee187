// Draws a task graph as a self-contained SVG file.
//
//   svg-group-per-task. There is one group per task and one line per dependency, whatever the tasks' texts contain.
//   svg-not-by-colour. Each status also has a word and a symbol.
import { listEdges } from '#base';
import type { GraphEdge } from '#base';
import type { DrawableTask } from '#contracts';
import { toDrawable, boxSize, layOutGraph } from './lay-out-graph.ts';
import type { DrawableInput, Layout, LayoutLine } from './lay-out-graph.ts';
import { countStatuses, statusStyles, formatTaskCount, withCommas, svgDocument } from './draw-style.ts';
import { escapeXml, fitLines, plainText, textWidth, titleText } from './draw-text.ts';

/** Larger graphs are drawn as a summary. */
const tasksMax = 2000;
const edgesMax = 10_000;

/** Draws tasks as an SVG picture that needs no other file. Graphs that are too large are drawn as a summary. */
export const drawSvg = (tasks: readonly DrawableInput[]): string => drawGraph(toDrawable(tasks));

const drawGraph = (tasks: readonly DrawableTask[]): string => {
  if (tasks.length === 0) return drawSummary(tasks, 'There are no tasks.');
  if (tasks.length > tasksMax)
    return drawSummary(tasks, `Too many tasks to draw individually: the limit is ${withCommas(tasksMax)}.`);
  const edgeCount = listEdges(tasks).length;
  if (edgeCount > edgesMax)
    return drawSummary(
      tasks,
      `Too many dependencies to draw: ${withCommas(edgeCount)}, and the limit is ${withCommas(edgesMax)}.`,
    );

  const layout = layOutGraph(tasks);
  const width = Math.max(pageWidthMin, Math.ceil(layout.width) + margin * 2);
  const legend = buildLegend(tasks, width);
  const before = Map.groupBy(layout.lines, ({ to }) => to);
  const left = (width - layout.width) / 2;
  return svgDocument({
    width,
    height: Math.ceil(layout.height) + legend.height + margin * 2,
    title: `A graph of ${formatTaskCount(tasks.length)}`,
    description: describeGraph(tasks, layout),
    body: [
      defs,
      ...legend.body,
      `<g transform="translate(${round(left)} ${legend.height + margin})">`,
      ...layout.stems.map((stem) => lineElement(stem, 'line stem')),
      ...layout.lines.map((line) => lineElement(line, 'line link')),
      ...tasks.map((task, index) =>
        taskElement(task, layout.boxes[index]!, taskTitles(tasks, before.get(index) ?? [])),
      ),
      '</g>',
    ],
  });
};

const margin = 24;
const pageWidthMin = 360;
const padding = 12;
/** Bold text at size 13 is as wide as plain text at this size. */
const boldSize = 14.5;
const tooltipCharsMax = 400;
const round = (value: number): number => Math.round(value * 10) / 10;

const defs = [
  '<defs>',
  '<marker id="task-graph-head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto"><path class="head" d="M0 .5L8 4 0 7.5z"/></marker>',
  `<clipPath id="task-graph-box"><rect width="${boxSize.width - 4}" height="${boxSize.height - 2}"/></clipPath>`,
  '</defs>',
].join('');

/** The statuses that occur, with symbols and counts, on as many lines as needed. */
const buildLegend = (
  tasks: readonly DrawableTask[],
  width: number,
): { readonly height: number; readonly body: string[] } => {
  const total = formatTaskCount(tasks.length);
  let [x, y] = [margin + textWidth(total, 15) + 18, margin + 12];
  const entries = countStatuses(tasks).map(({ status, count }) => {
    const label = `${withCommas(count)} ${status}`;
    const entryWidth = 18 + textWidth(label, 11) + 14;
    if (x + entryWidth > width - margin / 2) [x, y] = [margin, y + 20];
    const entry = `<g class="count ${status}" transform="translate(${round(x)} ${y})"><path class="sign" transform="translate(0 -10)" d="${statusStyles[status].sign}"/><text class="word" x="18">${label}</text></g>`;
    x += entryWidth;
    return entry;
  });
  return { height: y, body: [`<text class="total" x="${margin}" y="${margin + 12}">${total}</text>`, ...entries] };
};

const describeGraph = (tasks: readonly DrawableTask[], { lines }: Layout): string => {
  const states = countStatuses(tasks).map(({ status, count }) => `${withCommas(count)} ${status}`);
  const dependencies = `${withCommas(lines.length)} ${lines.length === 1 ? 'dependency' : 'dependencies'}`;
  return `${states.join(', ')}; ${dependencies}. Arrows point from a task to the tasks that depend on it.`;
};

const lineElement = ({ points, isHead }: LayoutLine, name: string): string => {
  const [begin, one, other, end, on] = points.map(([x, y]) => `${round(x)} ${round(y)}`);
  const straight = on === undefined ? '' : `L${on}`;
  return `<path class="${name}" d="M${begin}C${one} ${other} ${end}${straight}"${isHead ? ' marker-end="url(#task-graph-head)"' : ''}/>`;
};

const taskElement = (
  task: DrawableTask,
  { x, y }: { readonly x: number; readonly y: number },
  after: string,
): string => {
  const { status } = task;
  const wordWidth = textWidth(status, 11);
  const roomForName = boxSize.width - padding * 2;
  const [who = ''] = fitLines(plainText(task.assignee ?? '', 200), 11, {
    width: roomForName - wordWidth - 32,
    lines: 1,
  });
  const lines = fitLines(titleText(task.title, 300), boldSize, { width: roomForName, lines: 2 });
  const first = lines.length === 1 ? 50 : 43;
  return [
    `<g class="task ${status}" transform="translate(${round(x)} ${round(y)})">`,
    `<title>${escapeXml(tooltip(task, after))}</title>`,
    `<rect class="box" width="${boxSize.width}" height="${boxSize.height}" rx="8"/>`,
    `<path class="sign" transform="translate(${padding} 10)" d="${statusStyles[status].sign}"/>`,
    `<text class="word" x="${padding + 18}" y="20">${status}</text>`,
    '<g clip-path="url(#task-graph-box)">',
    `<text class="faint" x="${boxSize.width - padding}" y="20" text-anchor="end">${escapeXml(who)}</text>`,
    ...lines.map((line, at) => `<text class="name" x="${padding}" y="${first + at * 18}">${escapeXml(line)}</text>`),
    '</g></g>',
  ].join('');
};

const namesMax = 6;

const taskTitles = (tasks: readonly DrawableTask[], edges: readonly GraphEdge[]): string => {
  const names = edges.slice(0, namesMax).map(({ from }) => titleText(tasks[from]?.title ?? '', 60));
  return [...names, ...(edges.length > namesMax ? [`${edges.length - namesMax} more`] : [])].join(', ');
};

/** Everything that does not fit into the box. */
const tooltip = ({ title, assignee, status, reason }: DrawableTask, after: string): string =>
  [
    titleText(title, tooltipCharsMax),
    `${status}${assignee === null ? '' : `, ${plainText(assignee, tooltipCharsMax)}`}`,
    ...(after === '' ? [] : [`after ${after}`]),
    ...(reason === undefined || reason === null ? [] : [plainText(reason.text, tooltipCharsMax)]),
  ].join('\n');

// Draws a summary in place of a graph that is too large to read: how many tasks have which status.

const page = { width: 480, margin: 24, row: 26, top: 84, bars: 170 };

const drawSummary = (tasks: readonly DrawableTask[], why: string): string => {
  const counts = countStatuses(tasks);
  const total = formatTaskCount(tasks.length);
  const rows = counts.map(({ status, count }, at) => {
    const wide = Math.max(2, Math.round(((page.width - page.margin - page.bars) * count) / tasks.length));
    return [
      `<g class="count ${status}" transform="translate(${page.margin} ${page.top + at * page.row})">`,
      `<path class="sign" transform="translate(0 -10)" d="${statusStyles[status].sign}"/>`,
      `<text class="word" x="18">${status}</text>`,
      `<text x="${page.bars - page.margin - 10}" text-anchor="end">${withCommas(count)}</text>`,
      `<rect class="bar" x="${page.bars - page.margin}" y="-10" width="${wide}" height="12" rx="3"/>`,
      '</g>',
    ].join('');
  });
  return svgDocument({
    width: page.width,
    height: page.top + counts.length * page.row + page.margin - 16,
    title: total,
    description: [...counts.map(({ status, count }) => `${withCommas(count)} ${status}`), why].join('; '),
    body: [
      `<text class="total" x="${page.margin}" y="36">${total}</text>`,
      `<text class="faint" x="${page.margin}" y="56">${escapeXml(why)}</text>`,
      ...rows,
    ],
  });
};
