// The state of each cell of a run, built from its events.
import type { CellId } from '#base';
import type { CrossingEnd, DrawableTask, DurableEvent, RunEvent, Status } from '#contracts';
import { compactNumber } from './format.ts';
import { followWaiting, newWaitingTime } from './waiting-time.ts';
import type { WaitingTime } from './waiting-time.ts';

export type CellProgress = {
  readonly cell: CellId;
  readonly agent: string;
  readonly parent: CellId | null;
  /** The tool name under which its parent called it; null at the root. */
  readonly tool: string | null;
  readonly startedAt: number;
  /** How long the run was down since then. */
  downMs: number;
  /** How long it waited for people. */
  readonly wait: WaitingTime;
  endedAt: number | null;
  status: Status | null;
  /** Why it failed; null otherwise. */
  failure: string | null;
  /** Its most recently started child. */
  newestChild: CellId | null;
  /** Operations in flight. */
  readonly activities: Map<number, CurrentActivity>;
  /** What was done to its window for the request in flight; null if nothing. */
  window: string | null;
  /** Waiting before its next attempt. */
  waiting: boolean;
  /** A team that only plans: its tasks are not run. */
  readonly plansOnly: boolean;
  /** Not asked anything yet, or has answered: a long-lived agent waits for mail. */
  idle: boolean;
  turns: number;
  tools: number;
  inputTokens: number;
  outputTokens: number;
  /** Null as soon as one price is unknown. */
  usd: number | null;
};

type CurrentActivity = { readonly type: 'model' | 'tool' | 'child' | 'question'; readonly name: string };

export type RunProgress = {
  readonly cells: Map<CellId, CellProgress>;
  /** Tasks of the team at the root, in list order. */
  readonly tasks: Map<string, TaskView>;
  /** Ids of tasks that have not ended. */
  readonly openTasks: Set<string>;
  /** The cells of each agent, in the order in which they were started. */
  readonly cellsOf: Map<string, Set<CellId>>;
};

type TaskView = DrawableTask & {
  /** When its latest attempt started, and the cell of that attempt. */
  readonly startedAt: number | null;
  readonly cell: CellId | null;
};

export const newRunProgress = (): RunProgress => ({
  cells: new Map(),
  tasks: new Map(),
  openTasks: new Set(),
  cellsOf: new Map(),
});

const openStatuses: ReadonlySet<string> = new Set(['pending', 'ready', 'running']);

/** Applies one event. Live events change nothing. */
export const applyEvent = (runProgress: RunProgress, event: RunEvent): void => {
  if (!('id' in event)) return;
  if (event.type === 'child-start') addCell(runProgress, event.childAgent, event.child);
  if (event.type === 'session-start') {
    addCell(runProgress, event.agent, event.cell);
    runProgress.cells.set(event.cell, startedCell(event));
    return;
  }
  if (event.type === 'run-resume') addDowntime(runProgress, event.downMs);
  if (event.type === 'task') applyTaskEvent(runProgress, event);
  const view = runProgress.cells.get(event.cell);
  if (view === undefined) return;
  applyCellEvent(view, event);
  const types = new Set([...view.activities.values()].map(({ type }) => type));
  const works = view.waiting || types.has('model') || types.has('tool');
  followWaiting(runProgress.cells, view, { works, asks: types.has('question'), at: event.at });
};

const addCell = ({ cellsOf }: RunProgress, agent: string, cell: CellId): void => {
  const cells = cellsOf.get(agent) ?? new Set();
  cellsOf.set(agent, cells.add(cell));
};

/**
 * `name`, with a number for every cell of its agent but the first: `researcher`, `researcher#2`. The first gets none even when others
 * have followed, so that a cell has one name in all lines.
 */
export const cellName = ({ cellsOf }: RunProgress, name: string, agent: string, cell: CellId): string => {
  const at = [...(cellsOf.get(agent) ?? [])].indexOf(cell);
  return at < 1 ? name : `${name}#${at + 1}`;
};

/** Ignores tasks of teams below the root: their cells appear in the tree. */
const applyTaskEvent = (runProgress: RunProgress, event: DurableEvent & { type: 'task' }): void => {
  const { cells, tasks, openTasks } = runProgress;
  const team = cells.get(event.cell);
  if (team?.parent !== null || team.plansOnly) return;
  const { task: id, title, assignee, dependsOn, status, reason, at } = event;
  const before = tasks.get(id) ?? { startedAt: null, cell: null };
  // The cell of a task starts just before the task's own event.
  const begun = status === 'running' ? { startedAt: at, cell: team.newestChild } : before;
  tasks.set(id, { id, title, assignee, dependsOn, status, reason, startedAt: begun.startedAt, cell: begun.cell });
  if (openStatuses.has(status)) openTasks.add(id);
  else openTasks.delete(id);
};

/** The tool name under which a cell was called; null at the root. */
export const toolNameOf = (runProgress: RunProgress, cell: CellId): string | null =>
  runProgress.cells.get(cell)?.tool ?? null;

/** One end of a crossing, by the name of the agent in that cell. */
export const crossingEndName = (runProgress: RunProgress, end: CrossingEnd): string =>
  end === 'outside' ? 'outside' : (runProgress.cells.get(end)?.agent ?? end);

const startedCell = (event: DurableEvent & { type: 'session-start' }): CellProgress => ({
  cell: event.cell,
  agent: event.agent,
  parent: event.parent,
  tool: event.tool,
  startedAt: event.at,
  downMs: 0,
  wait: newWaitingTime(),
  endedAt: null,
  status: null,
  failure: null,
  newestChild: null,
  activities: new Map(),
  window: null,
  waiting: false,
  idle: event.goal === '',
  plansOnly: event.team?.planOnly === true,
  turns: 0,
  tools: 0,
  inputTokens: 0,
  outputTokens: 0,
  usd: 0,
});

/** Every cell that has not ended was down, unless it waited for people: then it waited. */
const addDowntime = (runProgress: RunProgress, ms: number): void => {
  for (const view of runProgress.cells.values())
    if (view.status === null && view.wait.since === null) view.downMs += ms;
};

const applyCellEvent = (view: CellProgress, event: Exclude<DurableEvent, { type: 'session-start' }>): void => {
  // There is no event for the end of a wait: whatever comes next ends it.
  view.waiting = event.type === 'wait-start';
  switch (event.type) {
    case 'model-start':
      view.idle = false;
      view.activities.set(event.op, { type: 'model', name: event.model });
      view.turns = Math.max(view.turns, event.turn);
      break;
    case 'window-clamp':
      view.window = `window ${compactNumber(event.window.tokens)}`;
      break;
    case 'window-trim':
      view.window = `window ${event.how}`;
      break;
    case 'model-end':
      view.activities.delete(event.op);
      view.idle = event.ok && event.calls === 0;
      view.window = null;
      view.inputTokens += event.inputTokens;
      view.outputTokens += event.outputTokens;
      view.usd = view.usd === null || event.usd === null ? null : view.usd + event.usd;
      break;
    case 'tool-start':
      view.activities.set(event.op, { type: 'tool', name: event.tool });
      // A spawn counts once, as the agent that was started.
      if (event.tool !== 'spawn_agent') view.tools++;
      break;
    case 'child-start':
      view.activities.set(event.op, { type: 'child', name: event.childAgent });
      view.newestChild = event.child;
      view.tools++;
      break;
    case 'question':
      view.activities.set(event.op, { type: 'question', name: event.tool });
      break;
    case 'tool-end':
    case 'question-end':
    case 'child-end':
      view.activities.delete(event.op);
      break;
    case 'session-end':
      view.activities.clear();
      view.window = null;
      view.endedAt = event.at;
      view.status = event.status;
      view.failure = event.error?.summary ?? null;
      break;
    case 'wait-start':
      // It has answered, but unlike a long-lived agent it waits for nothing but its children.
      if (event.for === 'spawned') view.idle = false;
      break;
    case 'mail':
    case 'task':
    case 'run-resume':
    case 'crossing':
    case 'crossing-refused':
    case 'run-cancel':
    case 'run-fork':
    case 'ruling':
      break;
  }
};

/** What a cell is doing now, in a few words. */
export const activityText = (view: CellProgress): string => {
  if (view.status !== null) return view.status === 'completed' ? '' : (view.failure ?? view.status);
  const names = (type: CurrentActivity['type']) => [...view.activities.values()].filter((one) => one.type === type);
  const [model] = names('model');
  if (model !== undefined) return `model ${model.name}${view.window === null ? '' : `, ${view.window}`}`;
  const [tool, ...tools] = names('tool');
  const children = names('child').length;
  const waitsFor = `waiting for ${children === 1 ? 'a child' : `${children} children`}`;
  if (tool !== undefined)
    return [
      `tool ${tool.name}${tools.length > 0 ? ` +${tools.length}` : ''}`,
      ...(children > 0 ? [waitsFor] : []),
    ].join(', ');
  const [question] = names('question');
  if (question !== undefined) return `waiting for a person: ${question.name}`;
  if (view.idle) return 'waiting';
  if (children > 0) return waitsFor;
  return view.waiting ? 'waiting to retry' : 'thinking';
};
