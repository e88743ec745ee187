// A graph of tasks as an SVG file that needs nothing else.
//
//   S1. Whatever the texts of the tasks hold, there is one group for each task and one line for each dependency.
//   S2. Nothing is told by colour alone: each state has its word and its sign.
import { drawnOf, linksOf } from './draw-layers.ts';
import type { DrawableInput, DrawableTask, TaskEdge } from './draw-layers.ts';
import { countStatuses, statusStyles, taskCountWords, withCommas } from './draw-status.ts';
import { sheet } from './draw-style.ts';
import { drawSummary } from './draw-summary.ts';
import { escapeXml, fitLines, plainText, textWidth, titleText } from './draw-text.ts';
import { boxSize, layOutGraph } from './lay-out-graph.ts';
import type { Layout, LayoutLine } from './lay-out-graph.ts';

/** What is larger is summed up. */
const tasksMax = 2000;
const linksMax = 10_000;

export const drawSvg = (tasks: readonly DrawableInput[]): string => svgOf(drawnOf(tasks));

const svgOf = (tasks: readonly DrawableTask[]): string => {
  if (tasks.length === 0) return drawSummary(tasks, 'There is nothing to do.');
  if (tasks.length > tasksMax)
    return drawSummary(tasks, `Too many to draw each of them: at most ${withCommas(tasksMax)} are.`);
  const linkCount = linksOf(tasks).length;
  if (linkCount > linksMax)
    return drawSummary(
      tasks,
      `Too many dependencies to draw each of them: ${withCommas(linkCount)}, and at most ${withCommas(linksMax)} are.`,
    );

  const layout = layOutGraph(tasks);
  const width = Math.max(pageWidthMin, Math.ceil(layout.width) + margin * 2);
  const legend = legendOf(tasks, width);
  const before = Map.groupBy(layout.lines, ({ to }) => to);
  const left = (width - layout.width) / 2;
  return sheet({
    width,
    height: Math.ceil(layout.height) + legend.height + margin * 2,
    title: `A graph of ${taskCountWords(tasks.length)}`,
    description: descriptionOf(tasks, layout),
    body: [
      defs,
      ...legend.body,
      `<g transform="translate(${round(left)} ${legend.height + margin})">`,
      ...layout.stems.map((stem) => lineElement(stem, 'line stem')),
      ...layout.lines.map((line) => lineElement(line, 'line link')),
      ...tasks.map((task, place) => taskElement(task, layout.boxes[place]!, namesOf(tasks, before.get(place) ?? []))),
      '</g>',
    ],
  });
};

const margin = 24;
const pageWidthMin = 360;
const padding = 12;
/** Bold letters of 13 are as wide as plain ones of this size. */
const boldSize = 14.5;
const tooltipCharsMax = 400;
const round = (value: number): number => Math.round(value * 10) / 10;

const defs = [
  '<defs>',
  '<marker id="task-graph-head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto"><path class="head" d="M0 .5L8 4 0 7.5z"/></marker>',
  `<clipPath id="task-graph-box"><rect width="${boxSize.width - 4}" height="${boxSize.height - 2}"/></clipPath>`,
  '</defs>',
].join('');

/** The states that occur, with their signs and numbers, on as many lines as they need. */
const legendOf = (
  tasks: readonly DrawableTask[],
  width: number,
): { readonly height: number; readonly body: string[] } => {
  const total = taskCountWords(tasks.length);
  let [x, y] = [margin + textWidth(total, 15) + 18, margin + 12];
  const entries = countStatuses(tasks).map(({ status, count }) => {
    const words = `${withCommas(count)} ${status}`;
    const wide = 18 + textWidth(words, 11) + 14;
    if (x + wide > width - margin / 2) [x, y] = [margin, y + 20];
    const entry = `<g class="count ${status}" transform="translate(${round(x)} ${y})"><path class="sign" transform="translate(0 -10)" d="${statusStyles[status].sign}"/><text class="word" x="18">${words}</text></g>`;
    x += wide;
    return entry;
  });
  return { height: y, body: [`<text class="total" x="${margin}" y="${margin + 12}">${total}</text>`, ...entries] };
};

const descriptionOf = (tasks: readonly DrawableTask[], { lines }: Layout): string => {
  const states = countStatuses(tasks).map(({ status, count }) => `${withCommas(count)} ${status}`);
  const links = `${withCommas(lines.length)} ${lines.length === 1 ? 'dependency' : 'dependencies'}`;
  return `${states.join(', ')}; ${links}. An arrow leads from a task to one that depends on it.`;
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
    `<title>${escapeXml(tooltipOf(task, after))}</title>`,
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

const namesOf = (tasks: readonly DrawableTask[], links: readonly TaskEdge[]): string => {
  const names = links.slice(0, namesMax).map(({ from }) => titleText(tasks[from]?.title ?? '', 60));
  return [...names, ...(links.length > namesMax ? [`${links.length - namesMax} more`] : [])].join(', ');
};

/** All that a box has no room for. */
const tooltipOf = ({ title, assignee, status, reason }: DrawableTask, after: string): string =>
  [
    titleText(title, tooltipCharsMax),
    `${status}${assignee === null ? '' : `, ${plainText(assignee, tooltipCharsMax)}`}`,
    ...(after === '' ? [] : [`after ${after}`]),
    ...(reason === undefined || reason === null ? [] : [plainText(reason.text, tooltipCharsMax)]),
  ].join('\n');
