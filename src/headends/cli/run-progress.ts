// What the events of a run say about its cells, so far.
import type { CellId } from '#base';
import type { DurableEvent, CrossingEnd, RunEvent, Status } from '#contracts';
import { compactNumber } from './format-numbers.ts';
import type { GraphTask } from './graph-layers.ts';

export type CellProgress = {
  readonly cell: CellId;
  readonly agent: string;
  readonly parent: CellId | null;
  /** The name that its parent calls it by; null at the root. */
  readonly tool: string | null;
  readonly startedAt: number;
  /** For how long nothing ran since then. */
  downMs: number;
  endedAt: number | null;
  status: Status | null;
  /** Why it ended, when it did not end well. */
  trouble: string | null;
  /** The cell below it that was begun last. */
  newest: CellId | null;
  /** Operations that are begun and not settled. */
  readonly doing: Map<number, CurrentActivity>;
  /** What was done to its window for the request under way, in a few words; or null. */
  window: string | null;
  /** It sleeps before its next attempt. */
  waiting: boolean;
  /** A team that is asked for a plan alone: its tasks are nobody's. */
  readonly plansOnly: boolean;
  /** It has not been asked anything yet, or has answered: who lives on waits for mail. */
  idle: boolean;
  turns: number;
  tools: number;
  inputTokens: number;
  outputTokens: number;
  /** Null as soon as one price was not known. */
  usd: number | null;
};

export type CurrentActivity = { readonly type: 'model' | 'tool' | 'child'; readonly name: string };

export type RunProgress = {
  readonly cells: Map<CellId, CellProgress>;
  /** Of the team that the run is of, in the order of its list. */
  readonly tasks: Map<string, TaskView>;
  /** Those that have no end yet. */
  readonly openTasks: Set<string>;
};

export type TaskView = GraphTask & {
  /** When it was begun the last time, and the cell that works on it since. */
  readonly startedAt: number | null;
  readonly cell: CellId | null;
};

export const newBoard = (): RunProgress => ({ cells: new Map(), tasks: new Map(), openTasks: new Set() });

const openStatuses: ReadonlySet<string> = new Set(['pending', 'ready', 'running']);

/** Takes one event in. Live events change nothing. */
export const noteEvent = (board: RunProgress, event: RunEvent): void => {
  if (!('id' in event)) return;
  if (event.type === 'session-start') {
    board.cells.set(event.cell, startedCell(event));
    return;
  }
  if (event.type === 'run-resume') noteDowntime(board, event.downMs);
  if (event.type === 'task') noteTask(board, event);
  const view = board.cells.get(event.cell);
  if (view !== undefined) noteInCell(view, event);
};

/** A team below the root has tasks of its own: they are its cells' to tell. */
const noteTask = (board: RunProgress, event: DurableEvent & { type: 'task' }): void => {
  const { cells, tasks, openTasks } = board;
  const team = cells.get(event.cell);
  if (team?.parent !== null || team.plansOnly) return;
  const { task: id, title, assignee, dependsOn, status, reason, at } = event;
  const before = tasks.get(id) ?? { startedAt: null, cell: null };
  // What begins a task begins its cell just before.
  const begun = status === 'running' ? { startedAt: at, cell: team.newest } : before;
  tasks.set(id, { id, title, assignee, dependsOn, status, reason, startedAt: begun.startedAt, cell: begun.cell });
  if (openStatuses.has(status)) openTasks.add(id);
  else openTasks.delete(id);
};

/** The name that a cell below the root was called by; null at the root. */
export const calledAs = (board: RunProgress, cell: CellId): string | null => board.cells.get(cell)?.tool ?? null;

/** An end of a crossing in words: the agent in that cell. */
export const endName = (board: RunProgress, end: CrossingEnd): string =>
  end === 'outside' ? 'outside' : (board.cells.get(end)?.agent ?? end);

const startedCell = (event: DurableEvent & { type: 'session-start' }): CellProgress => ({
  cell: event.cell,
  agent: event.agent,
  parent: event.parent,
  tool: event.tool,
  startedAt: event.at,
  downMs: 0,
  endedAt: null,
  status: null,
  trouble: null,
  newest: null,
  doing: new Map(),
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

/** All that has not ended stood still. */
const noteDowntime = (board: RunProgress, ms: number): void => {
  for (const view of board.cells.values()) if (view.status === null) view.downMs += ms;
};

const noteInCell = (view: CellProgress, event: Exclude<DurableEvent, { type: 'session-start' }>): void => {
  // There is no event for the end of a wait: whatever comes next ends it.
  view.waiting = event.type === 'wait-start';
  switch (event.type) {
    case 'model-start':
      view.idle = false;
      view.doing.set(event.op, { type: 'model', name: event.model });
      view.turns = Math.max(view.turns, event.turn);
      break;
    case 'window-clamp':
      view.window = `window ${compactNumber(event.window.tokens)}`;
      break;
    case 'window-trim':
      view.window = `window ${event.how}`;
      break;
    case 'model-end':
      view.doing.delete(event.op);
      view.idle = event.ok && event.calls === 0;
      view.window = null;
      view.inputTokens += event.inputTokens;
      view.outputTokens += event.outputTokens;
      view.usd = view.usd === null || event.usd === null ? null : view.usd + event.usd;
      break;
    case 'tool-start':
      view.doing.set(event.op, { type: 'tool', name: event.tool });
      view.tools++;
      break;
    case 'child-start':
      view.doing.set(event.op, { type: 'child', name: event.childAgent });
      view.newest = event.child;
      view.tools++;
      break;
    case 'tool-end':
    case 'child-end':
      view.doing.delete(event.op);
      break;
    case 'session-end':
      view.doing.clear();
      view.window = null;
      view.endedAt = event.at;
      view.status = event.status;
      view.trouble = event.error?.summary ?? null;
      break;
    case 'mail':
    case 'task':
    case 'wait-start':
    case 'run-resume':
    case 'crossing':
    case 'crossing-refused':
    case 'run-cancel':
    case 'run-fork':
      break;
  }
};

/** What a cell does now, in a few words. */
export const doingNow = (view: CellProgress): string => {
  if (view.status !== null) return view.status === 'completed' ? '' : (view.trouble ?? view.status);
  const names = (type: CurrentActivity['type']) => [...view.doing.values()].filter((one) => one.type === type);
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
  if (view.idle) return 'waiting';
  if (children > 0) return waitsFor;
  return view.waiting ? 'waiting to try again' : 'thinking';
};
