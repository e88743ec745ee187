// The tasks of a run's teams as they stand after each frame. Read from frames alone: the same queue, driven by what was recorded.
import { extractJson, decodeMessage, utf8Bytes } from '#base';
import type { CellId, Failure, Hash } from '#base';
import type {
  Birth,
  CrossingContent,
  Envelope,
  Frame,
  FrameRecord,
  Mail,
  ReceiveResult,
  Task,
  TaskReport,
  TaskSpec,
  TeamGoal,
  TeamPart,
  TeamRules,
} from '#contracts';
import { abortedReason, refusalReason, refusedName, resultReason, skippedName, TaskQueue } from '#core/tasks';

/** One team at work in a run. */
export type FollowedTeam = {
  readonly cell: CellId;
  readonly asked: TeamGoal;
  readonly rules: TeamRules;
  readonly queue: TaskQueue;
  /** By task: the cells that worked on it. */
  readonly cells: Map<string, CellId[]>;
};

export type TaskFold = {
  /** Tasks that came to another state with this frame, as they stand then, and their team's cell. */
  next(frame: Frame): readonly { readonly cell: CellId; readonly task: Task }[];
  of(cell: CellId): FollowedTeam | undefined;
  readonly teams: ReadonlyMap<CellId, FollowedTeam>;
};

type State = {
  readonly rules: Map<Hash, TeamRules>;
  readonly teams: Map<CellId, FollowedTeam>;
  /** What the cells of teams are for, until they end. */
  readonly parts: Map<CellId, { readonly team: FollowedTeam; readonly part: TeamPart }>;
  /** Mail in the box of a team, until it is read. */
  readonly mail: Map<string, string>;
  changed: Map<Task, CellId>;
};

export const followTasks = (): TaskFold => {
  const state: State = { rules: new Map(), teams: new Map(), parts: new Map(), mail: new Map(), changed: new Map() };
  return {
    next: (frame) => {
      state.changed = new Map();
      follow(frame, state);
      return [...state.changed].map(([task, cell]) => ({ cell, task: { ...task } }));
    },
    of: (cell) => state.teams.get(cell),
    teams: state.teams,
  };
};

const follow = (frame: Frame, state: State): void => {
  const { record } = frame;
  for (const { digest, definition } of frame.definitions ?? [])
    if (definition.team !== undefined) state.rules.set(digest, definition.team);
  if (state.rules.size === 0) return;
  for (const content of frame.contents ?? [])
    if (content.kind === 'message' && state.teams.has(content.cell)) state.mail.set(keyOf(content), content.content);
  if ((record.type === 'open' || record.type === 'begin') && record.birth !== undefined)
    born(frame, record.birth, state);
  if (record.type === 'settle') settled(frame, record, state);
  // Who was stopped decides nothing more.
  if (record.type === 'post' && record.ok && record.name === refusedName) refused(frame.cell, record, state);
  if (record.type === 'post' && record.ok && record.name === skippedName) skipRest(frame.cell, record.value, state);
  if (record.type === 'close') over(frame.cell, state);
};

const keyOf = ({ cell, seq }: Pick<CrossingContent, 'cell' | 'seq'>): string => `${cell}/${seq}`;

const born = (frame: Frame, birth: Birth, state: State): void => {
  const rules = state.rules.get(birth.digest);
  const goal = frame.contents?.find(({ cell, kind }) => cell === birth.cell && kind === 'goal')?.content;
  if (rules !== undefined && goal !== undefined) openTeam(birth, goal, rules, state);
  const team = birth.parent === null ? undefined : state.teams.get(birth.parent);
  if (team === undefined || birth.task === undefined) return;
  state.parts.set(birth.cell, { team, part: birth.task });
  if (birth.task.part !== 'task') return;
  const { task } = birth.task;
  team.cells.set(task, [...(team.cells.get(task) ?? []), birth.cell]);
  attempt(() => team.queue.start(task, birth.agent));
};

const openTeam = ({ cell, parent }: Birth, goal: string, rules: TeamRules, state: State): void => {
  const asked = parent === null ? (JSON.parse(goal) as TeamGoal) : { goal, tasks: null, answer: true };
  const { members, memoryScope, retries } = rules;
  const onChange = (task: Task): void => void state.changed.set(task, cell);
  const queue = new TaskQueue({ assignees: Object.keys(members), memoryScope, retries, allowAll: true, onChange });
  state.teams.set(cell, { cell, asked, rules, queue, cells: new Map() });
  if (asked.tasks !== null) attempt(() => queue.add(asked.tasks ?? []));
};

const settled = (frame: Frame, record: Extract<FrameRecord, { type: 'settle' }>, state: State): void => {
  const team = state.teams.get(frame.cell);
  if (record.ended !== undefined) over(record.ended.cell, state);
  if (team === undefined) return;
  // From the moment when it is stopped it hears of nothing.
  if (record.halted !== undefined) return;
  if (record.ended !== undefined) return endPart(frame, record.ended.cell, state);
  const { messages } = (record.value ?? {}) as Partial<ReceiveResult>;
  if (Array.isArray(messages)) for (const seq of messages) takeMail(team, keyOf({ cell: frame.cell, seq }), state);
};

const endPart = (frame: Frame, cell: CellId, { parts }: State): void => {
  const { team, part } = parts.get(cell) ?? {};
  parts.delete(cell);
  if (team === undefined || part === undefined) return;
  const content = frame.contents?.find(({ kind, from }) => kind === 'result' && from === cell)?.content;
  const ended = content === undefined ? ({ code: 'crossing_refused' } as const) : (JSON.parse(content) as Envelope);
  if (part.part === 'plan' && !('code' in ended) && ended.status === 'completed')
    attempt(() => team.queue.add(planIn(ended.output)));
  if (part.part === 'task') attempt(() => endTask(team.queue, part.task, ended));
};

const refused = (cell: CellId, { about, value }: Extract<FrameRecord, { type: 'post' }>, { teams }: State): void => {
  const { task, assignee } = (about ?? {}) as { readonly task?: string; readonly assignee?: string | null };
  const queue = teams.get(cell)?.queue;
  if (task === undefined || queue === undefined) return;
  attempt(() => queue.start(task, assignee ?? null));
  attempt(() => queue.skip(task, refusalReason(value as unknown as Failure)));
};

const skipRest = (cell: CellId, value: unknown, { teams }: State): void =>
  attempt(() => teams.get(cell)?.queue.skipRest(abortedReason((value as { readonly why: string }).why)));

const endTask = (queue: TaskQueue, id: string, ended: Parameters<typeof resultReason>[0]): void => {
  if (!('code' in ended) && ended.status === 'completed') return queue.complete(id, ended.output);
  const { skips, reason } = resultReason(ended);
  if (skips) queue.skip(id, reason);
  else queue.fail(id, reason);
};

const planIn = (output: string): readonly TaskSpec[] =>
  ((extractJson(output) as { readonly tasks?: unknown } | undefined)?.tasks ?? []) as readonly TaskSpec[];

const takeMail = (team: FollowedTeam, key: string, { mail }: State): void => {
  const content = mail.get(key);
  mail.delete(key);
  if (content === undefined) return;
  const { agent_id: sender, recipient_id: reader, text } = decodeMessage(content) as Mail;
  // Words for a member are no tasks.
  if (sender === null && !Object.hasOwn(team.rules.members, reader))
    attempt(() => team.queue.add(JSON.parse(text) as readonly TaskSpec[]));
};

/** What has not ended with its team never will. */
const over = (cell: CellId, { teams }: State): void => {
  const team = teams.get(cell);
  // A plan that nobody asked to work through stays as it is.
  if (team === undefined || team.asked.planOnly === true) return;
  const reason = abortedReason('the work was stopped');
  team.queue.skipRest(reason);
  for (const { id, status } of team.queue.tasks()) if (status === 'running') team.queue.skip(id, reason);
};

/** A log may say anything: what does not fit changes nothing here, and the checks say so. */
const attempt = (change: () => unknown): void => {
  try {
    change();
  } catch {
    // Not a change that the queue allows.
  }
};

export const taskReport = ({ cells }: FollowedTeam, task: Task): TaskReport => {
  const { order: _order, when: _when, ...rest } = task;
  return { ...rest, cells: cells.get(task.id) ?? [], bytes: utf8Bytes(task.result ?? '') };
};

/** The tasks of a run's root, or of another team of it. */
export const readRunTasks = (frames: readonly Frame[], cell?: CellId): readonly TaskReport[] => {
  const fold = followTasks();
  for (const frame of frames) fold.next(frame);
  const team = cell === undefined ? [...fold.teams.values()][0] : fold.of(cell);
  return team === undefined ? [] : [...team.queue.tasks()].map((task) => taskReport(team, task));
};
