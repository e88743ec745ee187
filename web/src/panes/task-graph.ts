// A team's run as a graph: the team, its tasks in columns by depth, and the answer. Lines show whose content it is.
import type { TaskReport, TaskStatus } from '#contracts';
import { formatBytes, formatDuration, workedMs } from '#headends/run-view';
import type { CellView, CrossingView, RunView, TaskView } from '#headends/run-view';
import type { GraphEdge, GraphNode } from './graph-layout.ts';

export type TaskNode = GraphNode & {
  readonly kind: 'team' | 'task' | 'answer';
  readonly title: string;
  /** The agent that works on it, in words. */
  readonly who: string;
  readonly status: TaskStatus;
  readonly cell: CellView | null;
  /** The size of its result, when it has left its room; null until then. */
  readonly bytes: number | null;
};

export type TaskEdge = GraphEdge & {
  readonly kind: 'goal' | 'dependency';
  /** Null: it has not crossed yet. */
  readonly crossing: CrossingView | null;
};

export type TaskGraph = {
  readonly nodes: readonly TaskNode[];
  readonly edges: readonly TaskEdge[];
  readonly columns: readonly string[];
};

/** Lines to the answer are left out of larger graphs: it saw all results, which one sentence says as well. */
const answerLinesMax = 24;

export const taskGraphOf = (view: RunView, reports: readonly TaskReport[]): TaskGraph => {
  const root = view.cells.values().next().value;
  if (root === undefined || view.tasks.size === 0) return { nodes: [], edges: [], columns: [] };
  const tasks = [...view.tasks.values()];
  const depths = depthsOf(tasks);
  const last = 2 + Math.max(...depths.values());
  const { plan, answer } = coordinatorCells(view, root, reports);
  const crossings = crossingsByReader(view);
  const taskNodes = tasks.map((task) => taskNode(task, 1 + depths.get(task.id)!, view));
  const answerNode = plan === undefined && answer === undefined ? [] : [answerNodeOf(view, last, plan, answer)];
  const edges = [
    ...tasks.flatMap((task) => edgesInto(task, tasks, view, crossings)),
    ...(answerNode.length > 0 && tasks.length <= answerLinesMax ? answerEdges(tasks, answer, view, crossings) : []),
  ];
  return {
    nodes: [teamNode(view, root, plan), ...taskNodes, ...answerNode],
    edges,
    columns: [
      'Team',
      ...Array.from({ length: last - 1 }, (_, depth) => columnTitle(tasks, depths, depth)),
      ...(answerNode.length > 0 ? ['Answer'] : []),
    ],
  };
};

/** The longest way to it; a task that depends on itself, in a damaged record, stands where it is met first. */
export const depthsOf = (tasks: readonly Pick<TaskView, 'id' | 'dependsOn'>[]): ReadonlyMap<string, number> => {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const depths = new Map<string, number>();
  const visit = (id: string, above: ReadonlySet<string>): number => {
    const known = depths.get(id);
    if (known !== undefined) return known;
    const before = (byId.get(id)?.dependsOn ?? []).filter((one) => byId.has(one) && !above.has(one) && one !== id);
    const depth = Math.max(-1, ...before.map((one) => visit(one, new Set([...above, id])))) + 1;
    depths.set(id, depth);
    return depth;
  };
  for (const { id } of tasks) visit(id, new Set());
  return depths;
};

const taskIdOf = (task: string): string => `task ${task}`;

const columnTitle = (tasks: readonly TaskView[], depths: ReadonlyMap<string, number>, depth: number): string => {
  if (depth === 0) return 'At once';
  const before = new Set(tasks.filter(({ id }) => depths.get(id) === depth).flatMap(({ dependsOn }) => dependsOn));
  const [only] = before;
  const title = before.size === 1 ? tasks.find(({ id }) => id === only)?.title : undefined;
  return title === undefined ? 'Then' : `After ${title}`;
};

/** The cells in which the coordinator planned, and wrote the answer. */
const coordinatorCells = ({ cells, tasks }: RunView, root: CellView, reports: readonly TaskReport[]) => {
  const ofTasks = new Set<string | null>([
    ...[...tasks.values()].map(({ cell }) => cell),
    ...reports.flatMap((report) => report.cells),
  ]);
  const others = [...cells.values()].filter(
    ({ cell, parent, goal }) => parent === root.cell && !ofTasks.has(cell) && !goal.startsWith('# Task: '),
  );
  const firstTask = Math.min(...[...tasks.values()].map(({ startedAt }) => startedAt ?? Infinity));
  const plan = others.findLast(({ startedAt }) => startedAt < firstTask);
  return { plan, answer: others.findLast((cell) => cell !== plan && cell.startedAt >= firstTask) };
};

const crossingsByReader = ({ crossings }: RunView): ReadonlyMap<string, readonly CrossingView[]> =>
  Map.groupBy(
    crossings.filter(({ refused }) => refused === null),
    ({ to }) => to,
  );

const resultBytes = ({ crossings }: RunView, cell: CellView | undefined): number | null =>
  cell === undefined
    ? null
    : (crossings.findLast(({ from, kind, refused }) => from === cell.cell && kind === 'result' && refused === null)
        ?.bytes ?? null);

const statusOf = (cell: CellView | undefined): TaskStatus => {
  if (cell === undefined) return 'pending';
  if (cell.status === null) return 'running';
  return cell.status === 'completed' || cell.status === 'partial' ? 'completed' : 'failed';
};

const teamNode = (view: RunView, root: CellView, plan: CellView | undefined): TaskNode => ({
  id: 'team',
  column: 0,
  kind: 'team',
  title: root.agent,
  who: plan === undefined ? 'the team' : `plan by ${plan.agent}`,
  status: plan === undefined ? 'completed' : statusOf(plan),
  cell: plan ?? root,
  bytes: resultBytes(view, plan),
});

const taskNode = (task: TaskView, column: number, view: RunView): TaskNode => {
  const cell = task.cell === null ? undefined : view.cells.get(task.cell);
  return {
    id: taskIdOf(task.id),
    column,
    kind: 'task',
    title: task.title,
    who: task.assignee ?? cell?.agent ?? 'whoever is free',
    status: task.status,
    cell: cell ?? null,
    bytes: resultBytes(view, cell),
  };
};

const answerNodeOf = (view: RunView, column: number, plan?: CellView, answer?: CellView): TaskNode => ({
  id: 'answer',
  column,
  kind: 'answer',
  title: 'Answer',
  who: (answer ?? plan)?.agent ?? '',
  status: statusOf(answer),
  cell: answer ?? null,
  bytes: resultBytes(view, answer),
});

type ByReader = ReadonlyMap<string, readonly CrossingView[]>;

const received = (crossings: ByReader, cell: string | null | undefined, kind: CrossingView['kind']) =>
  cell == null ? [] : (crossings.get(cell) ?? []).filter((one) => one.kind === kind);

const edgesInto = (
  task: TaskView,
  tasks: readonly TaskView[],
  view: RunView,
  crossings: ByReader,
): readonly TaskEdge[] => {
  const to = taskIdOf(task.id);
  const goal = received(crossings, task.cell, 'goal')[0] ?? null;
  return [
    { id: `goal ${task.id}`, from: 'team', to, bus: true, kind: 'goal', crossing: goal },
    ...contentEdges(to, task.dependsOn, tasks, received(crossings, task.cell, 'dependency'), view),
  ];
};

const answerEdges = (
  tasks: readonly TaskView[],
  answer: CellView | undefined,
  view: RunView,
  crossings: ByReader,
): readonly TaskEdge[] => {
  const seen = received(crossings, answer?.cell, 'dependency');
  return contentEdges(
    'answer',
    tasks.map(({ id }) => id),
    tasks,
    seen,
    view,
  );
};

/**
 * A crossing does not name the task whose result it is; they cross in a fixed order: as the reader lists what it depends on, or, if
 * it sees everything, in the order of the tasks.
 */
const contentEdges = (
  to: string,
  planned: readonly string[],
  tasks: readonly TaskView[],
  seen: readonly CrossingView[],
  { cells }: RunView,
): readonly TaskEdge[] => {
  const at = seen[0]?.at ?? null;
  const isDone = ({ status, cell }: TaskView): boolean => {
    const ended = cell === null ? null : (cells.get(cell)?.endedAt ?? null);
    return status === 'completed' && (at === null || (ended !== null && ended <= at));
  };
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const all = seen[0]?.grant === 'all' ? tasks.map(({ id }) => id) : planned;
  const sources = all.flatMap((id) => byId.get(id) ?? []);
  const crossed = at === null ? sources : sources.filter(isDone);
  return crossed.map(({ id }, nth) => ({
    id: `${to} < ${id}`,
    from: taskIdOf(id),
    to,
    kind: 'dependency' as const,
    crossing: seen.length === crossed.length ? (seen[nth] ?? null) : null,
  }));
};

export const taskWords: Readonly<Record<TaskStatus, { readonly word: string; readonly look: string }>> = {
  running: { word: 'Working', look: 'running' },
  failed: { word: 'Failed', look: 'failed' },
  ready: { word: 'Ready', look: 'ready' },
  blocked: { word: 'Blocked', look: 'interrupted' },
  pending: { word: 'Waits', look: 'ready' },
  skipped: { word: 'Skipped', look: 'cancelled' },
  completed: { word: 'Done', look: 'completed' },
};

/** `0.4 s, 227 B`, or how it stands. */
export const nodeFigures = ({ status, cell, bytes }: TaskNode, now: number): string => {
  const took = cell === null ? null : formatDuration(workedMs(cell, now));
  if (status === 'completed' && took !== null) return bytes === null ? took : `${took}, ${formatBytes(bytes)}`;
  const { word } = taskWords[status];
  return status === 'running' && took !== null ? `${word}, ${took}` : word;
};

/** `3 tasks, 2 done, 1 failed.` */
export const taskSentence = (tasks: Iterable<Pick<TaskView, 'status'>>): string => {
  const all = [...tasks];
  const counts = Map.groupBy(all, ({ status }) => status);
  const words = (Object.keys(taskWords) as TaskStatus[]).toReversed().flatMap((status) => {
    const many = counts.get(status)?.length ?? 0;
    const word = status === 'pending' ? 'waiting' : taskWords[status].word.toLowerCase();
    return many === 0 ? [] : [`${many} ${word}`];
  });
  return `${all.length} ${all.length === 1 ? 'task' : 'tasks'}, ${words.join(', ')}.`;
};
