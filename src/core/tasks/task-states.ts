// Tracks the tasks of a run's teams after each frame. Reads only frames: the runtime's own task queue, driven by the log.
import { extractJson, readRecordedBy, unknownKind, utf8Bytes } from '#base';
import type { CellId, Failure, Hash } from '#base';
import { decodeEnvelope, decodeMail, decodeTeamGoal } from '#contracts';
import type {
  Birth,
  CrossingContent,
  Frame,
  ReceiveResult,
  RecordOf,
  Task,
  TaskReport,
  TaskSpec,
  TeamGoal,
  TeamPart,
  TeamRules,
} from '#contracts';
import { recordedVersions } from '#core/rules';
import { readPlan } from './read-task.ts';
import { TaskQueue } from './task-queue.ts';
import { abortedReason, refusalReason, resultReason, skipRestOperation, taskRefusedOperation } from './task-reasons.ts';
import { newestTeamTexts, teamTextsByVersion } from './team-texts.ts';
import type { TeamTexts } from './team-texts.ts';

/** One team at work in a run. */
export type TeamState = {
  readonly cell: CellId;
  readonly request: TeamGoal;
  readonly rules: TeamRules;
  readonly queue: TaskQueue;
  /** By task: the cells that worked on it. */
  readonly cells: Map<string, CellId[]>;
};

export type TaskFold = {
  /** The tasks that changed with this frame, in their new state, with their team's cell. */
  next(frame: Frame): readonly { readonly cell: CellId; readonly task: Task }[];
  get(cell: CellId): TeamState | undefined;
  /** Forgets a team that has ended. */
  release(cell: CellId): void;
  readonly teams: ReadonlyMap<CellId, TeamState>;
};

type State = {
  /** The texts about tasks in this run's version. */
  texts: TeamTexts;
  readonly rules: Map<Hash, TeamRules>;
  readonly teams: Map<CellId, TeamState>;
  /** The part that each live cell of a team plays. */
  readonly parts: Map<CellId, { readonly team: TeamState; readonly part: TeamPart }>;
  /** Unread mail of teams. */
  readonly mail: Map<string, string>;
  changed: Map<Task, CellId>;
};

export const followTasks = (): TaskFold => {
  const state: State = {
    texts: newestTeamTexts,
    rules: new Map(),
    teams: new Map(),
    parts: new Map(),
    mail: new Map(),
    changed: new Map(),
  };
  return {
    next: (frame) => {
      state.changed = new Map();
      follow(frame, state);
      return [...state.changed].map(([task, cell]) => ({ cell, task: { ...task } }));
    },
    get: (cell) => state.teams.get(cell),
    release: (cell) => void state.teams.delete(cell),
    teams: state.teams,
  };
};

const follow = (frame: Frame, state: State): void => {
  const { record } = frame;
  if (frame.no === 0) state.texts = teamTextsIn(readRecordedBy(record)?.format);
  for (const { digest, definition } of frame.definitions ?? [])
    if (definition.team !== undefined) state.rules.set(digest, definition.team);
  if (state.rules.size === 0) return;
  for (const content of frame.contents ?? [])
    if (content.kind === 'message' && state.teams.has(content.cell))
      state.mail.set(contentKey(content), content.content);
  switch (record.type) {
    case 'open':
    case 'begin':
      return record.birth && startCell(frame, record.birth, state);
    case 'settle':
      return readSettle(frame, record, state);
    case 'post':
      // A team that was stopped makes no more decisions, so only posts that succeeded count.
      if (record.ok && record.name === taskRefusedOperation) refuseTask(frame.cell, record, state);
      if (record.ok && record.name === skipRestOperation) skipRest(frame.cell, record.value, state);
      return;
    case 'close':
      return endTeam(frame.cell, state);
    case 'held':
    case 'again':
    case 'resume':
    case 'fork':
    case 'give':
    case 'mail':
    case 'delivered':
    case 'ruling':
    case 'cancel':
      return;
    default:
      return unknownKind(record, undefined);
  }
};

const teamTextsIn = (format: number | undefined): TeamTexts =>
  format === undefined ? newestTeamTexts : teamTextsByVersion[recordedVersions(format).teamTexts]!;

const contentKey = ({ cell, seq }: Pick<CrossingContent, 'cell' | 'seq'>): string => `${cell}/${seq}`;

const startCell = (frame: Frame, birth: Birth, state: State): void => {
  const rules = state.rules.get(birth.digest);
  const goal = frame.contents?.find(({ cell, kind }) => cell === birth.cell && kind === 'goal')?.content;
  if (rules !== undefined && goal !== undefined) openTeam(birth, goal, rules, state);
  const team = birth.parent === null ? undefined : state.teams.get(birth.parent);
  if (team === undefined || birth.task === undefined) return;
  state.parts.set(birth.cell, { team, part: birth.task });
  if (birth.task.part !== 'task') return;
  const { task } = birth.task;
  team.cells.set(task, [...(team.cells.get(task) ?? []), birth.cell]);
  tryChange(() => team.queue.start(task, birth.agent));
};

const openTeam = ({ cell, parent }: Birth, goal: string, rules: TeamRules, state: State): void => {
  const request = parent === null ? decodeTeamGoal(goal) : { goal, tasks: null, answer: true };
  const { members, memoryScope, retries } = rules;
  const { texts } = state;
  const onChange = (task: Task): void => void state.changed.set(task, cell);
  const queue = new TaskQueue({
    assignees: Object.keys(members),
    memoryScope,
    retries,
    allowAll: true,
    texts,
    onChange,
  });
  state.teams.set(cell, { cell, request, rules, queue, cells: new Map() });
  if (request.tasks !== null) tryChange(() => queue.add(request.tasks ?? []));
};

const readSettle = (frame: Frame, record: RecordOf<'settle'>, state: State): void => {
  const team = state.teams.get(frame.cell);
  if (record.ended !== undefined) endTeam(record.ended.cell, state);
  if (team === undefined) return;
  // A team that is being stopped no longer learns of results.
  if (record.halted !== undefined) return;
  if (record.ended !== undefined) return endPart(frame, record.ended.cell, state);
  const { messages } = (record.value ?? {}) as Partial<ReceiveResult>;
  if (Array.isArray(messages)) for (const seq of messages) takeMail(team, contentKey({ cell: frame.cell, seq }), state);
};

const endPart = (frame: Frame, cell: CellId, { parts }: State): void => {
  const { team, part } = parts.get(cell) ?? {};
  parts.delete(cell);
  if (team === undefined || part === undefined) return;
  const content = frame.contents?.find(({ kind, from }) => kind === 'result' && from === cell)?.content;
  const ended = content === undefined ? ({ code: 'crossing_refused' } as const) : decodeEnvelope(content);
  if (part.part === 'plan' && !('code' in ended) && ended.status === 'completed')
    tryChange(() => team.queue.add(plannedTasks(ended.output)));
  if (part.part === 'task') tryChange(() => endTask(team.queue, part.task, ended));
};

const refuseTask = (cell: CellId, { about, value }: RecordOf<'post'>, { teams }: State): void => {
  const { task, assignee } = (about ?? {}) as { readonly task?: string; readonly assignee?: string | null };
  const queue = teams.get(cell)?.queue;
  if (task === undefined || queue === undefined) return;
  tryChange(() => queue.start(task, assignee ?? null));
  tryChange(() => queue.skip(task, refusalReason(value as unknown as Failure)));
};

const skipRest = (cell: CellId, value: unknown, { teams }: State): void =>
  tryChange(() => teams.get(cell)?.queue.skipRest(abortedReason((value as { readonly why: string }).why)));

const endTask = (queue: TaskQueue, id: string, ended: Parameters<typeof resultReason>[0]): void => {
  if (!('code' in ended) && ended.status === 'completed') return queue.complete(id, ended.output);
  const { skips, reason } = resultReason(ended, queue.texts);
  if (skips) queue.skip(id, reason);
  else queue.fail(id, reason);
};

const plannedTasks = (output: string): readonly TaskSpec[] => {
  const plan = readPlan(extractJson(output));
  return 'problem' in plan ? [] : (plan.tasks as readonly TaskSpec[]);
};

const takeMail = (team: TeamState, key: string, { mail }: State): void => {
  const content = mail.get(key);
  mail.delete(key);
  if (content === undefined) return;
  const { agent_id: sender, recipient_id: reader, text } = decodeMail(content);
  // A message for a member does not contain tasks.
  if (sender === null && !Object.hasOwn(team.rules.members, reader))
    tryChange(() => team.queue.add(JSON.parse(text) as readonly TaskSpec[]));
};

/** Tasks that are unfinished when their team ends are skipped. */
const endTeam = (cell: CellId, { teams }: State): void => {
  const team = teams.get(cell);
  // If only the plan was requested, its tasks stay unchanged.
  if (team === undefined || team.request.planOnly === true) return;
  const reason = abortedReason(team.queue.texts.reasons.stopped);
  team.queue.skipRest(reason);
  for (const { id, status } of team.queue.tasks()) if (status === 'running') team.queue.skip(id, reason);
};

/** A log may contain anything: a change that the queue refuses is ignored here, and the checks report it. */
const tryChange = (change: () => unknown): void => {
  try {
    change();
  } catch {
    // The queue refused the change.
  }
};

const taskReport = ({ cells }: TeamState, task: Task): TaskReport => {
  const { order: _order, when: _when, ...rest } = task;
  return { ...rest, cells: cells.get(task.id) ?? [], bytes: utf8Bytes(task.result ?? '') };
};

/** Collects the tasks of a run's teams. */
export const collectTasks = () => {
  const fold = followTasks();
  return {
    next: (frame: Frame): void => void fold.next(frame),
    /** Those of the run's first team, or of the team in `cell`. */
    of: (cell?: CellId): readonly TaskReport[] => {
      const team = cell === undefined ? [...fold.teams.values()][0] : fold.get(cell);
      return team === undefined ? [] : [...team.queue.tasks()].map((task) => taskReport(team, task));
    },
  };
};
