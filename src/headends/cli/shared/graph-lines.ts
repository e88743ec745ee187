// A task graph in a terminal, one line per task.
//
//   graph-lines-fit. No line is wider than `width`, and there are at most `height` lines.
//   graph-lines-sanitized. Titles, names and reasons are foreign text: they are sanitized before they reach the terminal.
import { graphLayers, listEdges } from '#base';
import type { DrawableTask, TaskStatus } from '#contracts';
import { count } from '#headends/run-view';
import type { Paint, Style } from './output.ts';
import { excerpt, padEnd, truncateColumns, width as widthOf } from './sanitize-text.ts';

type GraphView = {
  /** Columns. */
  readonly width: number;
  /** Lines; Infinity for no limit. */
  readonly height: number;
  readonly paint: Paint;
};

/**
 * For a team at work: layer by layer, with the dependencies each task waits for. If there is no room for all tasks, running and
 * failed tasks come first, then ready ones, then the others; a last line counts the rest.
 */
export const graphLines = (tasks: readonly DrawableTask[], view: GraphView): readonly string[] => {
  const { shown, rest } = pickTasks(tasks, view.height);
  const needed = new Set(shown.flatMap(({ dependsOn }) => dependsOn));
  const byId = new Map(tasks.filter(({ id }) => needed.has(id)).map((task) => [task.id, task]));
  const layers = graphLayers(shown.length, listEdges(shown)).map((layer) => layer.map((index) => shown[index]!));
  const rows = layers.flatMap((layer) =>
    layer.map((task, at) => ({
      status: task.status,
      lead: bracketAt(at, layer.length),
      title: taskTitle(task),
      who: excerpt(task.assignee ?? '', textMax),
      words: task.status === 'pending' || task.status === 'ready' ? dependencyText(task, byId) : taskReasonText(task),
    })),
  );
  return [...rowLines(rows, view), ...restLines(rest, view)];
};

/** For a team that has finished: in list order, each task with its status and, unless it completed, the reason. */
export const finalGraphLines = (tasks: readonly DrawableTask[], view: GraphView): readonly string[] => {
  const { shown, rest } = pickTasks(tasks, view.height);
  const wordWidth = shown.reduce((most, { status }) => Math.max(most, status.length), 0);
  const rows = shown.map((task) => ({
    status: task.status,
    lead: task.status.padEnd(wordWidth),
    title: taskTitle(task),
    who: excerpt(task.assignee ?? '', textMax),
    words: taskReasonText(task),
  }));
  return [...rowLines(rows, view), ...restLines(rest, view)];
};

/** The bracket that joins the tasks of one layer. */
const bracketAt = (at: number, size: number): string => {
  if (size === 1) return '─';
  if (at === 0) return '┌';
  return at === size - 1 ? '└' : '│';
};

/** No column can show more of a text than this. */
const textMax = 200;

const taskTitle = ({ title }: DrawableTask): string => excerpt(title, textMax) || '(no title)';

const taskReasonText = ({ status, reason }: DrawableTask): string =>
  status === 'completed' || reason === undefined || reason === null ? '' : excerpt(reason.text, textMax);

const namesMax = 5;

const dependencyText = (task: DrawableTask, byId: ReadonlyMap<string, DrawableTask>): string => {
  const isOpen = (before: DrawableTask): boolean =>
    before !== task && before.status !== 'completed' && before.status !== 'skipped';
  const waited = [...new Set(task.dependsOn)]
    .map((id) => byId.get(id))
    .filter((before) => before !== undefined)
    .filter((before) => isOpen(before));
  if (waited.length === 0) return '';
  const names = waited.slice(0, namesMax).map((before) => taskTitle(before));
  return waited.length > namesMax
    ? `after ${count(waited.length)}: ${names.join(', ')}, …`
    : `after ${names.join(', ')}`;
};

type TaskSelection = { readonly shown: readonly DrawableTask[]; readonly rest: ReadonlyMap<TaskStatus, number> };

/** The screen is redrawn often and shows few tasks, so this makes a single cheap pass over all of them. */
const pickTasks = (tasks: readonly DrawableTask[], height: number): TaskSelection => {
  const rest = new Map<TaskStatus, number>();
  if (tasks.length <= height) return { shown: tasks, rest };
  const shownMax = Math.max(0, height - 1);
  const first = new Map<TaskStatus, number[]>();
  for (const [place, { status }] of tasks.entries()) {
    rest.set(status, (rest.get(status) ?? 0) + 1);
    const places = first.get(status) ?? [];
    if (places.length < shownMax) places.push(place);
    first.set(status, places);
  }
  const kept = statusesByWeight.flatMap((status) => first.get(status) ?? []).slice(0, shownMax);
  const shown = kept.sort((one, other) => one - other).map((place) => tasks[place]!);
  for (const { status } of shown) rest.set(status, (rest.get(status) ?? 0) - 1);
  return { shown, rest };
};

const restLines = (rest: TaskSelection['rest'], { width, height, paint }: GraphView): readonly string[] => {
  const words = statusesByWeight.flatMap((status) => {
    const many = rest.get(status) ?? 0;
    return many === 0 ? [] : [`${count(many)} ${taskSigns[status].word}`];
  });
  if (words.length === 0 || height < 1) return [];
  return [paint('dim', truncateColumns(`… ${words.join(', ')}`, width))];
};

type Row = {
  readonly status: TaskStatus;
  /** Between the sign and the title. */
  readonly lead: string;
  readonly title: string;
  readonly who: string;
  readonly words: string;
};

const rowLines = (rows: readonly Row[], view: GraphView): readonly string[] => {
  const columns = columnsFor(rows, view.width);
  return rows.map((row) => rowLine(row, columns, view));
};

type Columns = { readonly title: number; readonly who: number; readonly words: number };

const titleMin = 6;

/** Fields without room get zero columns; a narrow screen shows only titles. */
const columnsFor = (rows: readonly Row[], width: number): Columns => {
  const longest = (key: 'lead' | 'title' | 'who' | 'words'): number =>
    rows.reduce((most, row) => Math.max(most, widthOf(row[key])), 0);
  const room = Math.max(0, width - longest('lead') - 3);
  if (room < titleMin) return { title: 0, who: 0, words: 0 };
  const who = room < 24 ? 0 : Math.min(longest('who'), Math.floor(room / 4));
  const wordsMin = room < 40 ? 0 : Math.min(longest('words'), Math.floor(room / 3));
  const left = room - (who > 0 ? who + 2 : 0);
  const title = Math.min(longest('title'), left - (wordsMin > 0 ? wordsMin + 2 : 0));
  return { title, who, words: wordsMin === 0 ? 0 : left - title - 2 };
};

const rowLine = (row: Row, columns: Columns, { width, paint }: GraphView): string => {
  const { style, sign } = taskSigns[row.status];
  if (columns.title === 0) return paint(style, truncateColumns(`${sign} ${row.title}`, width));
  const who = columns.who > 0 ? [padEnd(row.who, columns.who)] : [];
  const words = columns.words > 0 ? [truncateColumns(row.words, columns.words)] : [];
  const after = [...who, ...words].join('  ').trimEnd();
  const title = after === '' ? truncateColumns(row.title, columns.title) : `${padEnd(row.title, columns.title)}  `;
  const isQuiet = row.status === 'completed' || row.status === 'skipped';
  return [
    `${paint(style, sign)} ${paint('dim', row.lead)} `,
    isQuiet ? title : paint('bold', title),
    ...(after === '' ? [] : [paint('dim', after)]),
  ].join('');
};

type Sign = { readonly sign: string; readonly style: Style; readonly word: string };

/** Ordered by how much they matter to a user who watches. */
export const taskSigns: Readonly<Record<TaskStatus, Sign>> = {
  running: { sign: '●', style: 'cyan', word: 'running' },
  failed: { sign: '✗', style: 'red', word: 'failed' },
  ready: { sign: '○', style: 'bold', word: 'ready' },
  blocked: { sign: '⊘', style: 'yellow', word: 'blocked' },
  pending: { sign: '·', style: 'dim', word: 'waiting' },
  skipped: { sign: '-', style: 'yellow', word: 'skipped' },
  completed: { sign: '✓', style: 'green', word: 'done' },
};

export const statusesByWeight = Object.keys(taskSigns) as readonly TaskStatus[];
