// Was each cell of a team given exactly what is its own: its task, the results that it depends on, its messages.
//
//   A8. What it should have been given is worked out here from the tasks and from the results as they crossed.
import { decodeMessage, utf8Bytes } from '#base';
import type { CellId } from '#base';
import type {
  Birth,
  CrossingContent,
  DependencyHead,
  CrossingEnd,
  Frame,
  LedgerEntry,
  Mail,
  Outcome,
  Task,
  TeamPart,
} from '#contracts';
import { taskText } from '#core/rules';
import { isFinal, missingIn, missingWords, resultsText } from '#core/tasks';
import { followTasks } from './task-states.ts';
import type { FollowedTeam } from './task-states.ts';
import { problemLocation } from './problems.ts';
import type { AuditProblems } from './problems.ts';
import type { RunRecords } from './records.ts';

type Told = { readonly from: CrossingEnd; readonly to: CrossingEnd; readonly entry: LedgerEntry };

/** Why a result that crossed should not have; null when it may. */
export const dependencyFault = ({ record }: Frame, { from, to, entry }: Told, records: RunRecords): string | null => {
  const birth = record.type === 'begin' ? record.birth : undefined;
  if (birth?.task === undefined || birth.cell !== to || birth.parent !== from)
    return 'a dependency crosses only with the birth of a cell of a team';
  if (!isTeam(records, from)) return 'it does not come from a team';
  const scope = scopeOf(birth.task);
  return entry.grant === scope ? null : `it names the grant ${entry.grant} where ${scope} is given`;
};

/** Why a message that its team hands to the cell of a task should not have crossed. */
export const handoverFault = ({ record }: Frame, { from, to }: Told, records: RunRecords): string | null => {
  const birth = record.type === 'begin' ? record.birth : undefined;
  return birth?.task?.part === 'task' && birth.cell === to && birth.parent === from && isTeam(records, from)
    ? null
    : 'it does not cross in such a record';
};

const scopeOf = (part: TeamPart): string | null =>
  part.part === 'plan' ? null : part.part === 'answer' ? 'all' : part.scope;

const isTeam = ({ cells, definitions }: RunRecords, end: CrossingEnd): boolean => {
  const digest = end === 'outside' ? undefined : cells.get(end)?.birth.digest;
  return digest !== undefined && definitions.get(digest)?.team !== undefined;
};

/** Looks after the frame is read. */
export const verifyTasks = (records: RunRecords, problems: AuditProblems): ((frame: Frame) => void) => {
  const fold = followTasks();
  const seen: Seen = { handed: new Map(), mail: new Map(), goals: new Set() };
  return (frame) => {
    const { record } = frame;
    const birth = record.type === 'begin' ? record.birth : undefined;
    const team = birth?.parent == null ? undefined : fold.of(birth.parent);
    if (record.type === 'fork' && record.amendment.goal !== undefined) seen.goals.add(record.amendment.goal);
    // As it stood before.
    if (birth !== undefined && team !== undefined)
      for (const fault of [...birthFaults(frame, birth, team, seen), ...mailFaults(frame, birth, seen)])
        problems.add('task-given', problemLocation(frame, birth.cell), fault);
    fold.next(frame);
    for (const { cell, kind, content } of frame.contents ?? [])
      if (kind === 'message' && fold.of(cell) !== undefined) noteMail(cell, content, seen);
    const ended = endedIn(frame);
    const over = ended && fold.of(ended.cell);
    if (ended !== undefined && over !== undefined)
      for (const fault of outcomeFaults(ended.outcome, over, records))
        problems.add('outcome-answer', problemLocation(frame, ended.cell), fault);
  };
};

/** What was seen so far: which task each message was handed to, the mail of each team, and goals that forks have put in. */
type Seen = {
  readonly handed: Map<string, string>;
  readonly mail: Map<string, Mail>;
  readonly goals: Set<string>;
};

const noteMail = (team: CellId, content: string, { mail }: Seen): void => {
  const one = decodeMessage(content) as Mail;
  mail.set(`${team}/${one.id}`, one);
};

type Ended = { readonly cell: CellId; readonly outcome: Outcome };

const endedIn = ({ cell, record }: Frame): Ended | undefined => {
  if (record.type === 'close') return { cell, outcome: record.outcome };
  return record.type === 'settle' ? record.ended : undefined;
};

/** A team tells the truth of its tasks. One that was stopped may not have heard of all. */
const outcomeFaults = (outcome: Outcome, team: FollowedTeam, records: RunRecords): readonly string[] => {
  const { queue, asked } = team;
  const isWithheld = outcome.failure?.code === 'crossing_refused' && outcome.output === '';
  if (asked.planOnly === true || outcome.status === 'cancelled' || isWithheld || outcome.failure?.code === 'defect')
    return [];
  const missing = missingIn(queue);
  const told = (outcome.data as { readonly tasks?: readonly Pick<Task, 'id' | 'status'>[] } | null)?.tasks;
  const states = (tasks: Iterable<Pick<Task, 'id' | 'status'>>): string =>
    JSON.stringify([...tasks].map(({ id, status }) => [id, status]));
  const ids = missing.slice(0, outcome.missing.length).map(({ id }) => id);
  const isNamed =
    JSON.stringify(ids) === JSON.stringify(outcome.missing) && outcome.missing.length > 0 === missing.length > 0;
  const texts = [resultsText(queue), ...answersOf(team, missing, records), ''];
  const isWhole = missing.length === 0 || outcome.status !== 'completed';
  return [
    ...(told === undefined || states(told) === states(queue.tasks()) ? [] : ['its tasks are not what the log tells']),
    ...(told === undefined || isNamed ? [] : ['it names other tasks as missing than are']),
    ...(isWhole ? [] : ['it says that it is complete, and tasks are missing']),
    ...(texts.includes(outcome.output) ? [] : ['its output is neither its coordinator’s answer nor its results']),
    ...(outcome.output === '' && outcome.status === 'completed' ? ['it is complete without an answer'] : []),
  ];
};

/** As its coordinator said it, with or without the list of what is missing. */
const answersOf = ({ cell }: FollowedTeam, missing: readonly Task[], { cells }: RunRecords): readonly string[] =>
  (cells.get(cell)?.children ?? []).flatMap(({ birth, end }) => {
    if (birth.task?.part !== 'answer' || end === undefined) return [];
    const { output } = end.outcome;
    return [output, `${output}${missingWords(missing)}`];
  });

const birthFaults = (
  frame: Frame,
  { cell, agent, task: part }: Birth,
  team: FollowedTeam,
  { goals }: Seen,
): readonly string[] => {
  if (part === undefined) return ['it is born of a team, and for nothing'];
  const given = (frame.contents ?? []).filter((one) => one.cell === cell);
  const results = given.filter(({ kind }) => kind === 'dependency');
  if (part.part === 'plan') return results.length === 0 ? [] : ['who plans is given results'];
  if (part.part === 'answer') return resultFaults(results, completedIn(team));
  const task = team.queue.get(part.task);
  if (task === undefined) return [`there is no task ${part.task}`];
  const depends = team.queue.dependenciesOf(task.id);
  return [
    ...startFaults(task, agent, { depends, attempt: part.attempt }),
    ...(part.scope === task.memoryScope ? [] : [`its task is given ${task.memoryScope}, not ${part.scope}`]),
    ...goalFaults(given, task, goals),
    ...resultFaults(results, part.scope === 'all' ? completedIn(team) : depends.filter(isCompleted)),
  ];
};

const completedIn = ({ queue }: FollowedTeam): readonly Task[] => [...queue.tasks()].filter(isCompleted);

const isCompleted = ({ status }: Task): boolean => status === 'completed';

type Start = { readonly depends: readonly Task[]; readonly attempt: number };

const startFaults = (
  { status, assignee, attempts }: Task,
  agent: string,
  { depends, attempt }: Start,
): readonly string[] => [
  ...(depends.every((one) => isFinal(one.status)) ? [] : ['it starts before what it depends on has ended']),
  ...(status === 'ready' || (status === 'pending' && attempts > 0) ? [] : [`its task is ${status}`]),
  ...(assignee === null || assignee === agent ? [] : [`its task is ${assignee}'s`]),
  ...(attempt === attempts + 1 ? [] : [`it is try ${attempts + 1}, not ${attempt}`]),
];

/** Or what a fork has put in its place. */
const goalFaults = (
  given: readonly CrossingContent[],
  { title, description }: Task,
  goals: ReadonlySet<string>,
): readonly string[] => {
  const goal = given.find(({ kind }) => kind === 'goal')?.content ?? '';
  return goal === taskText(title, description) || goals.has(goal) ? [] : ['its goal is not the text of its task'];
};

/** Exactly these, in this order, in their own words. */
const resultFaults = (results: readonly CrossingContent[], expected: readonly Task[]): readonly string[] => {
  const faults: string[] = [];
  if (results.length !== expected.length) faults.push(`it is given ${results.length} results, not ${expected.length}`);
  results.forEach(({ content }, index) => {
    const task = expected[index];
    const {
      task: id,
      title,
      assignee,
      leftOut = 0,
      text,
    } = decodeMessage(content) as DependencyHead & { text: string };
    if (task === undefined) return;
    const whole = task.result ?? '';
    const isWhole =
      leftOut === 0 ? text === whole : whole.startsWith(text) && utf8Bytes(whole) - utf8Bytes(text) === leftOut;
    if (id !== task.id || title !== task.title || assignee !== task.assignee || !isWhole)
      faults.push(`what it is given as the result of ${task.id} is not that`);
  });
  return faults;
};

/** A message that its team has received for that member, and that no other task was handed. */
const mailFaults = ({ contents = [] }: Frame, birth: Birth, { handed, mail: received }: Seen): readonly string[] =>
  contents.flatMap(({ cell, kind, content }) => {
    if (cell !== birth.cell || kind !== 'message') return [];
    const mail = decodeMessage(content) as Mail;
    const known = received.get(`${birth.parent}/${mail.id}`);
    const task = birth.task?.part === 'task' ? birth.task.task : '';
    const isSame =
      known?.agent_id === mail.agent_id && known.text === mail.text && known.recipient_id === mail.recipient_id;
    const key = `${birth.parent}/${mail.id}`;
    const first = handed.get(key) ?? task;
    handed.set(key, first);
    return [
      ...(known !== undefined && isSame ? [] : [`its team has no message ${mail.id} like that`]),
      ...(mail.recipient_id === birth.agent ? [] : [`message ${mail.id} is for ${mail.recipient_id}`]),
      ...(first === task ? [] : [`message ${mail.id} was handed to ${first}`]),
    ];
  });
