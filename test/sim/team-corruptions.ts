// Corruptions of histories with teams, which the team judges must detect.
import type { History } from '../../sim/index.ts';

/** An untyped copy, so that tests can change anything. */
type Loose = any;
type Corruption = { readonly to: (history: History) => boolean; readonly change: (history: Loose) => void };

/** A team run that ended by itself. */
const runIn = (history: Loose): Loose =>
  history.runs.find(
    ({ agent, frames, forkedFrom }: Loose) =>
      agent.team !== null &&
      forkedFrom === null &&
      frames.at(-1)?.record.outcome?.data?.tasks?.length > 0 &&
      !frames.some(({ record }: Loose) => record.type === 'cancel'),
  );
const framesIn = (history: Loose): Loose[] => runIn(history)?.frames ?? [];
const outcomeIn = (history: Loose): Loose => framesIn(history).at(-1)?.record.outcome;
const isTask = ({ record }: Loose): boolean => record.birth?.task?.part === 'task';
const taskStartsIn = (history: Loose): Loose[] => framesIn(history).filter(isTask);

const worked = (history: History): boolean => taskStartsIn(history).length > 1;
const isShown = ({ contents }: Loose, kind: string): boolean => contents.some((one: Loose) => one.kind === kind);
const depended = (history: History): boolean => taskStartsIn(history).some((frame) => isShown(frame, 'dependency'));
const written = (history: History): boolean => taskStartsIn(history).some((frame) => isShown(frame, 'message'));
const completed = (history: History): boolean => outcomeIn(history)?.status === 'completed';
const partial = (history: History): boolean => outcomeIn(history)?.missing.length > 0;
const answered = (history: History): boolean =>
  completed(history) && framesIn(history).some(({ record }) => record.birth?.task?.part === 'answer');
const hadDeadline = (history: History): boolean => framesIn(history)[0]?.record.birth.deadline > 0;
const answeredInTime = (history: History): boolean => answered(history) && hadDeadline(history);
const retried = (history: History): boolean => framesIn(history).some(isPause);
/** A retry whose pause was not shortened by the deadline. */
const retriedAfterFullPause = (history: History): boolean =>
  framesIn(history).some(
    (frame, index, all) =>
      isPause(frame, index, all) && frame.record.until - frame.at >= runIn(history).agent.team.rules.backOffMs,
  );
const isPause = ({ record, cell }: Loose, _: number, [first]: Loose[]): boolean =>
  record.do === 'sleep' && cell === first.cell;
const atOnce = (history: History): boolean => {
  const [first, second] = taskStartsIn(history);
  const end = framesIn(history).find(({ record }) => record.ended?.cell === first?.record.birth.cell);
  return second !== undefined && end !== undefined && second.no < end.no;
};
const asked = (history: Loose): Loose => {
  const cells = new Set(taskStartsIn(history).map(({ record }) => record.birth.agent));
  return history.modelCalls.find(({ agent }: Loose) => cells.has(agent));
};
const wasAsked = (history: History): boolean => worked(history) && asked(history) !== undefined;

/** Lets the deadline pass just before the last frame of the team itself that fits. */
const passDeadline = (history: Loose, fits: (record: Loose) => boolean): void => {
  const frames = framesIn(history);
  const from = frames.findLastIndex(({ record, cell }) => cell === frames[0].cell && fits(record));
  for (const frame of frames.slice(from)) frame.at += 1e9;
};
/** When nothing is left to do, a team ends its last receive. */
const isEndOfMail = (record: Loose): boolean => record.type === 'settle' && record.failure?.code === 'cancelled';

/** Not a corruption: the clock is set while the answer is being written. */
export const lateAnswer: Corruption = {
  to: answeredInTime,
  change: (history) => passDeadline(history, ({ ended }) => ended !== undefined),
};

/** Removes one kind of content from all cells that are created for tasks. */
const without =
  (kind: string) =>
  (history: Loose): void => {
    for (const frame of taskStartsIn(history))
      frame.contents = frame.contents.filter((one: Loose) => one.kind !== kind);
  };

/** Changes the tasks in a team's request. */
const goalIn =
  (change: (tasks: Loose[]) => void) =>
  (history: Loose): void => {
    const crossed = framesIn(history)[0].contents.find(({ kind }: Loose) => kind === 'goal');
    const goal = JSON.parse(crossed.content);
    change(goal.tasks);
    crossed.content = JSON.stringify(goal);
  };
const wasGiven = (history: History): boolean =>
  worked(history) && JSON.parse(framesIn(history)[0].contents[0].content).tasks !== null;

export const teamCorruptions: Readonly<Record<string, readonly Corruption[]>> = {
  'teams start ready tasks by priority and room': [
    { to: worked, change: (history) => (taskStartsIn(history)[1].record.birth.task.task = 'another') },
    { to: worked, change: (history) => (taskStartsIn(history)[0].record.birth.task.attempt += 1) },
    { to: worked, change: (history) => (taskStartsIn(history)[0].record.birth.agent = 'somebody') },
    { to: wasGiven, change: goalIn((tasks) => (tasks[0].dependsOn = ['nothing that is there'])) },
    { to: wasGiven, change: goalIn((tasks) => tasks.push({ id: 'more', title: 'More', description: 'to do' })) },
    { to: retried, change: (history) => (framesIn(history).find(isPause).record.until += 1) },
    { to: retriedAfterFullPause, change: (history) => (runIn(history).agent.team.rules.backOffMs += 1) },
    { to: atOnce, change: (history) => (runIn(history).agent.team.rules.parallel = 1) },
  ],
  'task prompts have text, results and messages': [
    { to: depended, change: without('dependency') },
    { to: written, change: without('message') },
    {
      to: wasAsked,
      change: (history) => (asked(history).prompt = asked(history).prompt.replace('# Task', '# A task')),
    },
    {
      to: worked,
      change: (history) => {
        const [frame] = taskStartsIn(history);
        frame.contents[0].content += ' and more';
      },
    },
    {
      to: worked,
      change: (history) => {
        const [{ record, contents }] = taskStartsIn(history) as [Loose];
        const { cell } = record.birth;
        const more = { ...contents[0], seq: 99, kind: 'message', content: '{"id":"m-1"}\nmore' };
        (framesIn(history).find(({ no }) => no > 3 && no > 0 && framesIn(history)[no]?.cell === cell).contents ??=
          []).push(more);
      },
    },
  ],
  'every task ends once, reported consistently': [
    { to: completed, change: (history) => (outcomeIn(history).data.tasks[0].status = 'running') },
    { to: completed, change: (history) => outcomeIn(history).data.tasks.pop() },
    { to: completed, change: (history) => (outcomeIn(history).data.tasks[0].attempts += 1) },
    { to: completed, change: (history) => outcomeIn(history).missing.push('Something') },
    { to: completed, change: (history) => (outcomeIn(history).status = 'partial') },
    { to: partial, change: (history) => (outcomeIn(history).missing = []) },
    { to: answered, change: (history) => (outcomeIn(history).output = 'another answer') },
    { to: answeredInTime, change: (history) => passDeadline(history, isEndOfMail) },
    {
      to: (history) => completed(history) && !answered(history) && hadDeadline(history),
      change: (history) => passDeadline(history, isEndOfMail),
    },
    {
      to: (history) => completed(history) && !answered(history),
      change: (history) => (outcomeIn(history).output += '!'),
    },
    {
      to: (history) => completed(history) && history.sessions.some(({ tasks }) => (tasks?.length ?? 0) > 0),
      change: ({ sessions }) => (sessions.find(({ tasks }: Loose) => tasks?.length > 0).tasks[0].status = 'ready'),
    },
  ],
};
