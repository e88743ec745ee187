// What one cell has done so far, from its own events.
import type { CellId } from '#base';
import type { DurableEvent, EventError, Status } from '#contracts';
import { compactNumber } from './numbers.ts';
import { newWaitingTime } from './waiting-time.ts';
import type { WaitingTime } from './waiting-time.ts';

export type CellView = {
  readonly cell: CellId;
  readonly agent: string;
  readonly parent: CellId | null;
  readonly depth: number;
  readonly goal: string;
  /** The tool name under which its parent called it; null at the root. */
  readonly tool: string | null;
  readonly startedAt: number;
  /** How long the run was down since then. */
  downMs: number;
  /** How long it waited for people. */
  readonly wait: WaitingTime;
  endedAt: number | null;
  /** Its working time, as recorded with its end; null until then. */
  spentMs: number | null;
  status: Status | null;
  /** Why it failed; null otherwise. */
  failure: string | null;
  error: EventError | null;
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
  /** What its model has written in the attempt in flight, as far as this reader was sent it. */
  text: string;
  /** The beginning of `text` is missing: this reader came later, or was too slow. */
  isTextCut: boolean;
  /** Attempts at its model, its tool calls and the agents it started, each in the order of their starts. */
  readonly requests: ModelRequestView[];
  readonly calls: ToolCallView[];
  readonly children: ChildCallView[];
  readonly waits: WaitView[];
  /** Where its window was made smaller, and what was taken from it. */
  readonly cuts: WindowCutView[];
  turns: number;
  tools: number;
  inputTokens: number;
  outputTokens: number;
  /** Null as soon as one price is unknown. */
  usd: number | null;
};

type CurrentActivity = { readonly type: 'model' | 'tool' | 'child' | 'question'; readonly name: string };

/** `endedAt`: null while it is in flight, or if its outcome was never recorded. */
type OperationView = { readonly op: number; readonly startedAt: number; endedAt: number | null };

type ModelRequestView = OperationView & {
  readonly turn: number;
  readonly model: string;
  readonly promptBytes: number;
  /** What it wrote, if this reader was sent all of it; null: unknown. */
  text: string | null;
  ok: boolean | null;
  inputTokens: number;
  outputTokens: number;
  usd: number | null;
  ms: number;
  /** How many calls it ended with. */
  calls: number;
  error: EventError | null;
};

export type ToolCallView = OperationView & {
  readonly tool: string;
  /** As recorded: long ones are cut. */
  readonly args: string;
  ok: boolean | null;
  ms: number;
  bytesOut: number;
  error: EventError | null;
};

type ChildCallView = OperationView & {
  readonly child: CellId;
  readonly agent: string;
  readonly tool: string;
  ok: boolean | null;
};

/** Before the next attempt, or for the agents that it spawned: `ms` at most. `endedAt`: by what came next. */
type WaitView = OperationView & { readonly ms: number; readonly for: 'retry' | 'spawned' };

export type WindowCutView = { readonly at: number } & (
  | { readonly how: 'clamped'; readonly tokens: number; readonly was: number | null }
  | {
      readonly how: 'compacted' | 'shortened' | 'dropped';
      readonly messages: number;
      readonly bytesBefore: number;
      readonly bytesAfter: number;
    }
);

export const startedCell = (event: DurableEvent & { type: 'session-start' }): CellView => ({
  cell: event.cell,
  agent: event.agent,
  parent: event.parent,
  depth: event.depth,
  goal: event.goal,
  tool: event.tool,
  startedAt: event.at,
  downMs: 0,
  wait: newWaitingTime(),
  endedAt: null,
  spentMs: null,
  status: null,
  failure: null,
  error: null,
  newestChild: null,
  activities: new Map(),
  window: null,
  waiting: false,
  idle: event.goal === '',
  plansOnly: event.team?.planOnly === true,
  text: '',
  isTextCut: false,
  requests: [],
  calls: [],
  children: [],
  waits: [],
  cuts: [],
  turns: 0,
  tools: 0,
  inputTokens: 0,
  outputTokens: 0,
  usd: 0,
});

export const applyCellEvent = (cell: CellView, event: Exclude<DurableEvent, { type: 'session-start' }>): void => {
  // There is no event for the end of a wait: whatever comes next ends it.
  cell.waiting = event.type === 'wait-start';
  const lastWait = cell.waits.at(-1);
  if (lastWait !== undefined) lastWait.endedAt ??= event.at;
  switch (event.type) {
    case 'model-start':
    case 'model-end':
      return applyModelEvent(cell, event);
    case 'window-clamp':
    case 'window-trim':
      return applyWindowEvent(cell, event);
    case 'tool-start':
    case 'tool-end':
      return applyToolEvent(cell, event);
    case 'child-start':
    case 'child-end':
      return applyChildEvent(cell, event);
    case 'question':
      cell.activities.set(event.op, { type: 'question', name: event.tool });
      return;
    case 'question-end':
      cell.activities.delete(event.op);
      return;
    case 'session-end':
      keepUnfinishedText(cell);
      cell.activities.clear();
      cell.window = null;
      cell.text = '';
      cell.endedAt = event.at;
      cell.spentMs = event.spent.ms;
      cell.status = event.status;
      cell.error = event.error;
      cell.failure = event.error?.summary ?? null;
      return;
    case 'wait-start': {
      const { op, at, ms } = event;
      cell.waits.push({ op, startedAt: at, endedAt: null, ms, for: event.for ?? 'retry' });
      // It has answered, but unlike a long-lived agent it waits for nothing but its children.
      if (event.for === 'spawned') cell.idle = false;
      return;
    }
    case 'mail':
    case 'task':
    case 'run-resume':
    case 'crossing':
    case 'crossing-refused':
    case 'run-cancel':
    case 'run-fork':
    case 'ruling':
      return;
  }
};

/** The attempt in which a cell was stopped has no end of its own: what it wrote is in no log. */
const keepUnfinishedText = ({ requests, text, isTextCut }: CellView): void => {
  const last = requests.at(-1);
  if (last?.endedAt === null && !isTextCut) last.text = text;
};

type CellEvent<Type> = DurableEvent & { readonly type: Type };

/** The operation is among the last ones: those in flight are few. */
const findOperation = <T extends OperationView>(all: readonly T[], op: number): T | undefined =>
  all.findLast((one) => one.op === op);

const applyModelEvent = (cell: CellView, event: CellEvent<'model-start' | 'model-end'>): void => {
  if (event.type === 'model-start') {
    const { op, at, turn, model, promptBytes } = event;
    cell.idle = false;
    cell.text = '';
    cell.isTextCut = false;
    cell.activities.set(op, { type: 'model', name: model });
    cell.turns = Math.max(cell.turns, turn);
    const nothing = { text: null, ok: null, inputTokens: 0, outputTokens: 0, usd: 0, ms: 0, calls: 0, error: null };
    cell.requests.push({ op, startedAt: at, endedAt: null, turn, model, promptBytes, ...nothing });
    return;
  }
  const { op, at, ok, calls, inputTokens, outputTokens, usd, ms, error } = event;
  cell.activities.delete(op);
  cell.idle = ok && calls === 0;
  cell.window = null;
  cell.inputTokens += inputTokens;
  cell.outputTokens += outputTokens;
  cell.usd = cell.usd === null || usd === null ? null : cell.usd + usd;
  const request = findOperation(cell.requests, op);
  if (request === undefined) return;
  const text = cell.isTextCut ? null : cell.text;
  Object.assign(request, { endedAt: at, text, ok, inputTokens, outputTokens, usd, ms, calls, error });
};

const applyWindowEvent = (cell: CellView, event: CellEvent<'window-clamp' | 'window-trim'>): void => {
  const { at } = event;
  if (event.type === 'window-clamp') {
    const { tokens } = event.window;
    cell.window = `window ${compactNumber(tokens)}`;
    cell.cuts.push({ at, how: 'clamped', tokens, was: event.was });
    return;
  }
  const { how, messages, bytesBefore, bytesAfter } = event;
  cell.window = `window ${how}`;
  cell.cuts.push({ at, how, messages, bytesBefore, bytesAfter });
};

const applyToolEvent = (cell: CellView, event: CellEvent<'tool-start' | 'tool-end'>): void => {
  const { op, at, tool } = event;
  if (event.type === 'tool-start') {
    cell.activities.set(op, { type: 'tool', name: tool });
    // A spawn counts once, as the agent that was started.
    if (tool !== 'spawn_agent') cell.tools++;
    const nothing = { ok: null, ms: 0, bytesOut: 0, error: null };
    cell.calls.push({ op, startedAt: at, endedAt: null, tool, args: event.args, ...nothing });
    return;
  }
  cell.activities.delete(op);
  const { ok, ms, bytesOut, error } = event;
  const call = findOperation(cell.calls, op);
  if (call !== undefined) Object.assign(call, { endedAt: at, ok, ms, bytesOut, error });
};

const applyChildEvent = (cell: CellView, event: CellEvent<'child-start' | 'child-end'>): void => {
  const { op, at, child, childAgent: agent, tool } = event;
  if (event.type === 'child-start') {
    cell.activities.set(op, { type: 'child', name: agent });
    cell.newestChild = child;
    cell.tools++;
    cell.children.push({ op, startedAt: at, endedAt: null, child, agent, tool, ok: null });
    return;
  }
  cell.activities.delete(op);
  const call = findOperation(cell.children, op);
  if (call !== undefined) Object.assign(call, { endedAt: at, ok: event.ok });
};

/** What a cell is doing now, in a few words. */
export const activityText = (cell: CellView): string => {
  if (cell.status !== null) return cell.status === 'completed' ? '' : (cell.failure ?? cell.status);
  const names = (type: CurrentActivity['type']) => [...cell.activities.values()].filter((one) => one.type === type);
  const [model] = names('model');
  if (model !== undefined) return `model ${model.name}${cell.window === null ? '' : `, ${cell.window}`}`;
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
  if (cell.idle) return 'waiting';
  if (children > 0) return waitsFor;
  return cell.waiting ? 'waiting to retry' : 'thinking';
};
