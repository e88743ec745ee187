// The state of a run, folded from its events: what the command line draws while it runs, and what the page shows of any run.
//
//   view-events-only. Everything follows from the events, in their order, and from nothing else, so whoever has the events has the
//       same view. It is mutable: whoever holds it applies each event once.
//   view-everywhere. It runs in browsers: nothing is imported here but types and its own folder.
import type { CellId } from '#base';
import type {
  CrossingEnd,
  CrossingKind,
  DeadReason,
  DrawableTask,
  DurableEvent,
  MailReport,
  MailState,
  RefusalReason,
  RunEvent,
} from '#contracts';
import { applyCellEvent, startedCell } from './cell-view.ts';
import type { CellView } from './cell-view.ts';
import { followWaiting } from './waiting-time.ts';

export type RunView = {
  /** In the order in which they were started. */
  readonly cells: Map<CellId, CellView>;
  /** Every decision about a crossing, in the order of the log. */
  readonly crossings: CrossingView[];
  readonly questions: Map<string, QuestionView>;
  /** By `mailKey`, in the order in which they were sent. */
  readonly mail: Map<string, MailView>;
  /** Tasks of the team at the root, in list order. */
  readonly tasks: Map<string, TaskView>;
  /** Ids of tasks that have not ended. */
  readonly openTasks: Set<string>;
  /** The cells of each agent, in the order in which they were started. */
  readonly cellsOf: Map<string, Set<CellId>>;
  /** The times during which the run was down, each up to the moment in which it was resumed. */
  readonly downtimes: { readonly at: number; readonly ms: number }[];
  /** Null: it is not a fork. What comes before was kept from the other run. */
  fork: Pick<DurableEvent & { type: 'run-fork' }, 'at' | 'from' | 'amendment'> | null;
  cancelledAt: number | null;
  /** The time and the id of the newest event; null: none yet. */
  lastAt: number | null;
  lastId: string | null;
  /** How many recorded events were applied. */
  events: number;
};

export type CrossingView = {
  /** The id of its event, and of the event before it, after which it can be read alone; null: it is the first. */
  readonly id: string;
  readonly after: string | null;
  readonly at: number;
  readonly kind: CrossingKind;
  readonly from: CrossingEnd;
  readonly to: CrossingEnd;
  readonly bytes: number;
  /** The grant that allowed it, and the hash of what crossed; null if it was refused. */
  readonly grant: string | null;
  readonly sha256: string | null;
  /** Why it was refused; null if it crossed. */
  readonly refused: RefusalReason | null;
};

export type QuestionView = {
  readonly question: string;
  readonly cell: CellId;
  readonly askedAt: number;
  readonly asked: Omit<DurableEvent & { type: 'question' }, 'type'>;
  readonly rulings: (DurableEvent & { type: 'ruling' })[];
  /** Null: it waits. */
  state: (DurableEvent & { type: 'question-end' })['state'] | null;
  endedAt: number | null;
};

export type MailView = {
  readonly message: string;
  readonly kind: MailReport['message_type'];
  readonly from: CrossingEnd;
  readonly to: CrossingEnd | null;
  readonly sender: string | null;
  readonly recipient: string;
  readonly topic: string | null;
  readonly correlation: string | null;
  readonly text: string | null;
  readonly unasked: boolean;
  /** Its states, oldest first. */
  readonly states: { readonly state: MailState; readonly at: number; readonly reason: DeadReason | null }[];
};

export type TaskView = DrawableTask & {
  /** When its latest attempt started, and the cell of that attempt. */
  readonly startedAt: number | null;
  readonly cell: CellId | null;
};

export const newRunView = (): RunView => ({
  cells: new Map(),
  crossings: [],
  questions: new Map(),
  mail: new Map(),
  tasks: new Map(),
  openTasks: new Set(),
  cellsOf: new Map(),
  downtimes: [],
  fork: null,
  cancelledAt: null,
  lastAt: null,
  lastId: null,
  events: 0,
});

/** Applies one event. */
export const applyEvent = (view: RunView, event: RunEvent): void => {
  if (!('id' in event)) {
    const cell = view.cells.get(event.cell);
    if (cell === undefined) return;
    if (event.type === 'text-delta') cell.text += event.text;
    else if (event.type === 'text-reset') [cell.text, cell.isTextCut] = ['', false];
    else if (event.type === 'text-lag') cutLiveText(view);
    return;
  }
  applyRunEvent(view, event);
  view.lastAt = event.at;
  view.lastId = event.id;
  view.events++;
  const cell = view.cells.get(event.cell);
  if (event.type === 'session-start' || cell === undefined) return;
  applyCellEvent(cell, event);
  const types = new Set([...cell.activities.values()].map(({ type }) => type));
  const works = cell.waiting || types.has('model') || types.has('tool');
  followWaiting(view.cells, cell, { works, asks: types.has('question'), at: event.at });
};

/** Pieces of live text may be missing here: what is written now, and what was written while nobody read, is known in part only. */
export const cutLiveText = ({ cells }: RunView): void => {
  for (const cell of cells.values()) {
    cell.text = '';
    cell.isTextCut = true;
    for (const request of cell.requests) if (request.text === '') request.text = null;
  }
};

/** What an event says beyond its own cell. */
const applyRunEvent = (view: RunView, event: DurableEvent): void => {
  switch (event.type) {
    case 'session-start':
      addCell(view, event.agent, event.cell);
      view.cells.set(event.cell, startedCell(event));
      return;
    case 'child-start':
      return addCell(view, event.childAgent, event.child);
    case 'crossing':
      view.crossings.push({ ...crossingEnds(view, event), grant: event.grant, sha256: event.sha256, refused: null });
      return;
    case 'crossing-refused':
      view.crossings.push({ ...crossingEnds(view, event), grant: null, sha256: null, refused: event.reason });
      return;
    case 'question':
    case 'ruling':
    case 'question-end':
      return applyQuestionEvent(view, event);
    case 'mail':
      return applyMailEvent(view, event);
    case 'task':
      return applyTaskEvent(view, event);
    case 'run-resume':
      return addDowntime(view, event);
    case 'run-fork':
      view.fork = { at: event.at, from: event.from, amendment: event.amendment };
      return;
    case 'run-cancel':
      view.cancelledAt = event.at;
      return;
    case 'model-start':
    case 'model-end':
    case 'tool-start':
    case 'tool-end':
    case 'child-end':
    case 'wait-start':
    case 'window-clamp':
    case 'window-trim':
    case 'session-end':
      return;
  }
};

const addCell = ({ cellsOf }: RunView, agent: string, cell: CellId): void => {
  const cells = cellsOf.get(agent) ?? new Set();
  cellsOf.set(agent, cells.add(cell));
};

type CrossingEvent = DurableEvent & { type: 'crossing' | 'crossing-refused' };

const crossingEnds = ({ lastId: after }: RunView, { id, at, kind, from, to, bytes }: CrossingEvent) => ({
  id,
  after,
  at,
  kind,
  from,
  to,
  bytes,
});

const applyQuestionEvent = (
  { questions }: RunView,
  event: DurableEvent & { type: 'question' | 'ruling' | 'question-end' },
): void => {
  if (event.type === 'question') {
    const { question, cell, at } = event;
    questions.set(question, { question, cell, askedAt: at, asked: event, rulings: [], state: null, endedAt: null });
    return;
  }
  const asked = questions.get(event.question);
  if (asked === undefined) return;
  if (event.type === 'ruling') asked.rulings.push(event);
  else {
    asked.state = event.state;
    asked.endedAt = event.at;
  }
};

/** A broadcast has one id and several recipients. */
const mailKey = ({ message, recipient }: Pick<MailView, 'message' | 'recipient'>): string => `${message} ${recipient}`;

const applyMailEvent = ({ mail }: RunView, event: DurableEvent & { type: 'mail' }): void => {
  const { message, kind, from, to, sender, recipient, topic, correlation, text, unasked } = event;
  const { state, at, reason } = event;
  const known = mail.get(mailKey(event));
  if (known !== undefined) known.states.push({ state, at, reason });
  else {
    const sent = { message, kind, from, to, sender, recipient, topic, correlation, text, unasked };
    mail.set(mailKey(event), { ...sent, states: [{ state, at, reason }] });
  }
};

const openStatuses: ReadonlySet<string> = new Set(['pending', 'ready', 'running']);

/** Ignores tasks of teams below the root: their cells appear in the tree. */
const applyTaskEvent = (view: RunView, event: DurableEvent & { type: 'task' }): void => {
  const { cells, tasks, openTasks } = view;
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

/** Every cell that has not ended was down, unless it waited for people: then it waited. */
const addDowntime = (view: RunView, { at, downMs }: DurableEvent & { type: 'run-resume' }): void => {
  view.downtimes.push({ at, ms: downMs });
  for (const cell of view.cells.values()) if (cell.status === null && cell.wait.since === null) cell.downMs += downMs;
};

/**
 * `name`, with a number for every cell of its agent but the first: `researcher`, `researcher#2`. The first gets none even when others
 * have followed, so that a cell has one name in all lines.
 */
export const cellName = ({ cellsOf }: RunView, name: string, agent: string, cell: CellId): string => {
  const at = [...(cellsOf.get(agent) ?? [])].indexOf(cell);
  return at < 1 ? name : `${name}#${at + 1}`;
};

/** The tool name under which a cell was called; null at the root. */
export const toolNameOf = (view: RunView, cell: CellId): string | null => view.cells.get(cell)?.tool ?? null;

/** One end of a crossing, by the name of the agent in that cell. */
export const crossingEndName = (view: RunView, end: CrossingEnd): string =>
  end === 'outside' ? 'outside' : (view.cells.get(end)?.agent ?? end);
