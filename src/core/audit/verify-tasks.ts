// Checks that each cell of a team received exactly its task, the results it depends on, and its messages.
//
//   audit-derives-task-inputs. What a cell should have received is derived here from the tasks and from the results as they
//       crossed.
import { utf8Bytes } from '#base';
import type { CellId } from '#base';
import { decodeDependency, decodeMail } from '#contracts';
import type {
  Birth,
  CrossingContent,
  CrossingEnd,
  Frame,
  LedgerEntry,
  Mail,
  Outcome,
  Task,
  TeamPart,
} from '#contracts';
import { followTasks, isFinal, missingTasks, missingSection, resultsText } from '#core/tasks';
import type { TeamState } from '#core/tasks';
import { problemLocation } from './problems.ts';
import type { AuditProblems, Check } from './problems.ts';
import type { RunRecords } from './records.ts';

type CrossingStatement = { readonly from: CrossingEnd; readonly to: CrossingEnd; readonly entry: LedgerEntry };

/** Why a result should not have crossed; null if it may. */
export const dependencyFault = (
  { record }: Frame,
  { from, to, entry }: CrossingStatement,
  records: RunRecords,
): string | null => {
  const birth = record.type === 'begin' ? record.birth : undefined;
  if (birth?.task === undefined || birth.cell !== to || birth.parent !== from)
    return 'a dependency can cross only when a cell of a team starts';
  if (!isTeam(records, from)) return 'it does not come from a team';
  const scope = expectedScope(birth.task);
  return entry.grant === scope ? null : `it uses the grant ${entry.grant} instead of ${scope}`;
};

/** Why a message from a team to the cell of a task should not have crossed; null if it may. */
export const handoverFault = (
  { record }: Frame,
  { from, to }: CrossingStatement,
  records: RunRecords,
): string | null => {
  const birth = record.type === 'begin' ? record.birth : undefined;
  return birth?.task?.part === 'task' && birth.cell === to && birth.parent === from && isTeam(records, from)
    ? null
    : 'it cannot cross in such a record';
};

const expectedScope = (part: TeamPart): string | null =>
  part.part === 'plan' ? null : part.part === 'answer' ? 'all' : part.scope;

const isTeam = ({ cells, definitions }: RunRecords, end: CrossingEnd): boolean => {
  const digest = end === 'outside' ? undefined : cells.get(end)?.birth.digest;
  return digest !== undefined && definitions.get(digest)?.team !== undefined;
};

/** Runs after the frame is read. */
export const verifyTasks = (records: RunRecords, problems: AuditProblems): Check => {
  const fold = followTasks();
  const observed: ObservedTasks = { taskByMessage: new Map(), mail: new Map(), goals: new Set() };
  const next = (frame: Frame): void => {
    const { record } = frame;
    const birth = record.type === 'begin' ? record.birth : undefined;
    const team = birth?.parent == null ? undefined : fold.get(birth.parent);
    if (record.type === 'fork' && record.amendment.goal !== undefined) observed.goals.add(record.amendment.goal);
    // Uses the team's state before this frame.
    if (birth !== undefined && team !== undefined)
      for (const fault of [...birthFaults(frame, birth, team, observed), ...mailFaults(frame, birth, observed)])
        problems.add('task-given', problemLocation(frame, birth.cell), fault);
    fold.next(frame);
    for (const { cell, kind, content } of frame.contents ?? [])
      if (kind === 'message' && fold.get(cell) !== undefined) recordMail(cell, content, observed);
    const ended = endedCell(frame);
    const endedTeam = ended && fold.get(ended.cell);
    if (ended !== undefined && endedTeam !== undefined)
      for (const fault of outcomeFaults(ended.outcome, endedTeam, records))
        problems.add('outcome-answer', problemLocation(frame, ended.cell), fault);
  };
  const release = (cell: CellId): void => {
    if (fold.get(cell) === undefined) return;
    fold.release(cell);
    for (const known of [observed.taskByMessage, observed.mail])
      for (const key of known.keys()) if (key.startsWith(`${cell}/`)) known.delete(key);
  };
  return { next, release };
};

/** Collected so far: the task each message was handed to, the mail of each team, and the goals set by forks. */
type ObservedTasks = {
  readonly taskByMessage: Map<string, string>;
  readonly mail: Map<string, Mail>;
  readonly goals: Set<string>;
};

const recordMail = (team: CellId, content: string, { mail }: ObservedTasks): void => {
  const one = decodeMail(content);
  mail.set(`${team}/${one.id}`, one);
};

type EndedCell = { readonly cell: CellId; readonly outcome: Outcome };

const endedCell = ({ cell, record }: Frame): EndedCell | undefined => {
  if (record.type === 'close') return { cell, outcome: record.outcome };
  return record.type === 'settle' ? record.ended : undefined;
};

/** A team's outcome must match its tasks. A team that was stopped may not know about all of them. */
const outcomeFaults = (outcome: Outcome, team: TeamState, records: RunRecords): readonly string[] => {
  const { queue, request } = team;
  const isWithheld = outcome.failure?.code === 'crossing_refused' && outcome.output === '';
  if (request.planOnly === true || outcome.status === 'cancelled' || isWithheld || outcome.failure?.code === 'defect')
    return [];
  const missing = missingTasks(queue);
  const reported = (outcome.data as { readonly tasks?: readonly Pick<Task, 'id' | 'status'>[] } | null)?.tasks;
  const states = (tasks: Iterable<Pick<Task, 'id' | 'status'>>): string =>
    JSON.stringify([...tasks].map(({ id, status }) => [id, status]));
  const ids = missing.slice(0, outcome.missing.length).map(({ id }) => id);
  const isNamed =
    JSON.stringify(ids) === JSON.stringify(outcome.missing) && outcome.missing.length > 0 === missing.length > 0;
  const texts = [resultsText(queue), ...coordinatorAnswers(team, missing, records), ''];
  const isWhole = missing.length === 0 || outcome.status !== 'completed';
  return [
    ...(reported === undefined || states(reported) === states(queue.tasks()) ? [] : ['its tasks differ from the log']),
    ...(reported === undefined || isNamed ? [] : ['it lists the wrong tasks as missing']),
    ...(isWhole ? [] : ['it claims to be complete, but tasks are missing']),
    ...(texts.includes(outcome.output) ? [] : ['its output is neither its coordinator’s answer nor its results']),
    ...(outcome.output === '' && outcome.status === 'completed' ? ['it is complete but has no answer'] : []),
  ];
};

/** The coordinator's answers, each with and without the list of missing tasks. */
const coordinatorAnswers = (
  { cell, queue }: TeamState,
  missing: readonly Task[],
  { cells }: RunRecords,
): readonly string[] =>
  (cells.get(cell)?.children ?? []).flatMap(({ birth, end }) => {
    if (birth.task?.part !== 'answer' || end === undefined) return [];
    const { output } = end.outcome;
    return [output, `${output}${missingSection(missing, queue.texts)}`];
  });

const birthFaults = (
  frame: Frame,
  { cell, agent, task: part }: Birth,
  team: TeamState,
  { goals }: ObservedTasks,
): readonly string[] => {
  if (part === undefined) return ['a team started it without a purpose'];
  const received = (frame.contents ?? []).filter((one) => one.cell === cell);
  const results = received.filter(({ kind }) => kind === 'dependency');
  if (part.part === 'plan') return results.length === 0 ? [] : ['the planning cell was given results'];
  if (part.part === 'answer') return resultFaults(results, completedTasks(team));
  const task = team.queue.get(part.task);
  if (task === undefined) return [`there is no task ${part.task}`];
  const depends = team.queue.dependenciesOf(task.id);
  return [
    ...startFaults(task, agent, { depends, attempt: part.attempt }),
    ...(part.scope === task.memoryScope ? [] : [`its task has the scope ${task.memoryScope}, not ${part.scope}`]),
    ...goalFaults(received, team.queue.texts.taskGoal(task.title, task.description), goals),
    ...resultFaults(results, part.scope === 'all' ? completedTasks(team) : depends.filter(isCompleted)),
  ];
};

const completedTasks = ({ queue }: TeamState): readonly Task[] => [...queue.tasks()].filter(isCompleted);

const isCompleted = ({ status }: Task): boolean => status === 'completed';

type Start = { readonly depends: readonly Task[]; readonly attempt: number };

const startFaults = (
  { status, assignee, attempts }: Task,
  agent: string,
  { depends, attempt }: Start,
): readonly string[] => [
  ...(depends.every((one) => isFinal(one.status)) ? [] : ['it started before its dependencies ended']),
  ...(status === 'ready' || (status === 'pending' && attempts > 0) ? [] : [`its task is ${status}`]),
  ...(assignee === null || assignee === agent ? [] : [`its task is assigned to ${assignee}`]),
  ...(attempt === attempts + 1 ? [] : [`it is attempt ${attempts + 1}, not ${attempt}`]),
];

/** The goal must be the text of the task, or the goal that a fork has set. */
const goalFaults = (
  received: readonly CrossingContent[],
  expected: string,
  goals: ReadonlySet<string>,
): readonly string[] => {
  const goal = received.find(({ kind }) => kind === 'goal')?.content ?? '';
  return goal === expected || goals.has(goal) ? [] : ['its goal differs from the text of its task'];
};

/** The results must be exactly these, in this order, unchanged. */
const resultFaults = (results: readonly CrossingContent[], expected: readonly Task[]): readonly string[] => {
  const faults: string[] = [];
  if (results.length !== expected.length)
    faults.push(`it was given ${results.length} results instead of ${expected.length}`);
  results.forEach(({ content }, index) => {
    const task = expected[index];
    const { task: id, title, assignee, leftOut = 0, text } = decodeDependency(content);
    if (task === undefined) return;
    const fullResult = task.result ?? '';
    const isWhole =
      leftOut === 0
        ? text === fullResult
        : fullResult.startsWith(text) && utf8Bytes(fullResult) - utf8Bytes(text) === leftOut;
    if (id !== task.id || title !== task.title || assignee !== task.assignee || !isWhole)
      faults.push(`the result it was given for ${task.id} is wrong`);
  });
  return faults;
};

/** A message must be one that the team received for that member, and not handed to another task. */
const mailFaults = (
  { contents = [] }: Frame,
  birth: Birth,
  { taskByMessage, mail: received }: ObservedTasks,
): readonly string[] =>
  contents.flatMap(({ cell, kind, content }) => {
    if (cell !== birth.cell || kind !== 'message') return [];
    const mail = decodeMail(content);
    const teamMail = received.get(`${birth.parent}/${mail.id}`);
    const task = birth.task?.part === 'task' ? birth.task.task : '';
    const isSame =
      teamMail?.agent_id === mail.agent_id &&
      teamMail.text === mail.text &&
      teamMail.recipient_id === mail.recipient_id;
    const key = `${birth.parent}/${mail.id}`;
    const first = taskByMessage.get(key) ?? task;
    taskByMessage.set(key, first);
    return [
      ...(teamMail !== undefined && isSame ? [] : [`its team has no such message ${mail.id}`]),
      ...(mail.recipient_id === birth.agent ? [] : [`message ${mail.id} is for ${mail.recipient_id}`]),
      ...(first === task ? [] : [`message ${mail.id} was already handed to ${first}`]),
    ];
  });
