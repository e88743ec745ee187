// Every task ends in one final state, which all sources report the same. A team reports what it has and what is missing.
import type { Envelope, Outcome, Task } from '#contracts';
import { collectTasks } from '#core/tasks';
import type { RunHistory } from '../history.ts';
import type { Judge, ReportProblem } from './judge.ts';
import { hasEnded } from './team-model.ts';
import type { ModelTask } from './team-model.ts';
import { expectedTeamRuns } from './teams.ts';
import type { ExpectedTeamRun } from './expected-team-run.ts';

type Seen = Pick<Task, 'id' | 'status' | 'attempts' | 'assignee' | 'reason'> & Partial<Pick<Task, 'result'>>;

export const teamEnds: Judge = {
  name: 'every task ends once, reported consistently',
  check: (history, report) => {
    let checks = 0;
    for (const { run, story } of expectedTeamRuns(history)) {
      const { outcome, parent, birth } = story.cell;
      if (outcome === null || story.request.planOnly === true) continue;
      const { tasks } = story.model;
      checks += tasks.length;
      for (const { id, status } of tasks) if (!hasEnded({ status })) report(`${id} of run ${run.run} to end`, status);
      const logged = collectTasks();
      for (const frame of run.frames) logged.next(frame);
      compare(`the log of run ${run.run}`, tasks, logged.of(birth.cell), report);
      const told = (outcome.data as { readonly tasks?: readonly Seen[] } | null)?.tasks ?? null;
      if (told !== null) compare(`the outcome of run ${run.run}`, tasks, told, report);
      for (const { run: of, tasks: live, outcome: ended } of history.sessions)
        if (of === run.run && parent === null && ended !== null && live !== null && live.length > 0)
          compare(`the session of run ${run.run}`, tasks, live, report);
      judgeOutcome(run, story, outcome, report);
    }
    return checks;
  },
};

/** Compares the tasks of the model with the tasks that a source reports. */
const compare = (where: string, tasks: readonly ModelTask[], seen: readonly Seen[], report: ReportProblem): void => {
  if (seen.length !== tasks.length)
    report(
      `${tasks.map(({ id }) => id).join(', ') || 'no tasks'} in ${where}`,
      seen.map(({ id }) => id).join(', ') || 'none',
    );
  for (const one of seen) {
    const task = tasks.find(({ id }) => id === one.id);
    if (task === undefined) continue;
    const { status, attempts, assignee, code, causes, result } = task;
    const words = (by: object): string => JSON.stringify(by);
    const expected = { status, attempts, assignee, code };
    const found = {
      status: one.status,
      attempts: one.attempts,
      assignee: one.assignee ?? null,
      code: one.reason?.code ?? null,
    };
    if (words(expected) !== words(found)) report(`${task.id} in ${where}: ${words(expected)}`, words(found));
    if (code === 'dependency' && !causes.includes(one.reason?.task ?? ''))
      report(`${task.id} in ${where} blocked by ${causes.join(' or ')}`, words(one.reason ?? {}));
    if (one.result !== undefined && one.result !== result)
      report(`the result of ${task.id} in ${where}: ${result}`, `${one.result}`);
  }
};

const judgeOutcome = (run: RunHistory, story: ExpectedTeamRun, outcome: Outcome, report: ReportProblem): void => {
  const { model, request, answered, stopped, late } = story;
  if (model.tasks.length === 0 && request.tasks === null) return;
  const missing = model.tasks.filter(({ status, code }) => status !== 'completed' && code !== 'condition');
  const ids = missing.slice(0, 100).map(({ id }) => id);
  const titles = missing.slice(0, 50).map(({ title }) => title);
  const answer = stopped ? null : usable(answered?.envelope ?? null);
  if (JSON.stringify(outcome.missing) !== JSON.stringify(ids))
    report(
      `run ${run.run} to list as missing: ${ids.join(', ') || 'nothing'}`,
      outcome.missing.join(', ') || 'nothing',
    );
  const output = answer === null ? finalResults(model.tasks, missing.length === 0) : answer.output;
  const isSaid = titles.length === 0 ? outcome.output === output : outcome.output.startsWith(output);
  if (!isSaid && outcome.failure?.code !== 'crossing_refused')
    report(`run ${run.run} to return ${JSON.stringify(output)}`, JSON.stringify(outcome.output));
  if (outcome.output !== '')
    for (const title of titles)
      if (!outcome.output.slice(output.length).includes(title))
        report(`the answer of run ${run.run} to list ${title} as missing`, outcome.output);
  const isWhole = titles.length === 0 && model.tasks.some(({ status }) => status === 'completed');
  const isAnswered = !request.answer || answer?.status === 'completed';
  // If it was cancelled between its last task and its end, either status is valid.
  const isCancelled = outcome.status === 'cancelled' && run.frames.some(({ record }) => record.type === 'cancel');
  const isCompleted = isWhole && isAnswered && !stopped && !late;
  if (!isCancelled && (outcome.status === 'completed') !== isCompleted)
    report(`run ${run.run} to end ${isCompleted ? 'completed' : 'not completed'}`, outcome.status);
};

const usable = (envelope: Envelope | null): Envelope | null =>
  envelope === null || envelope.output === '' ? null : envelope;

/** The results that no other task depends on. */
const finalResults = (tasks: readonly ModelTask[], isWhole: boolean): string => {
  const done = tasks.filter(({ status }) => status === 'completed');
  const last = done.filter(({ id }) => !done.some(({ dependsOn }) => dependsOn.includes(id)));
  if (last.length === 1 && isWhole) return last[0]!.result!;
  return last
    .map(({ title, assignee, result }) => `## ${title} (by ${assignee})\n\n${escapeHeadings(result ?? '')}`)
    .join('\n\n');
};

/** No line of a result looks like the heading of another: the runtime puts a backslash before it. */
const escapeHeadings = (result: string): string =>
  result
    .split(/(?<=[\n\r\v\f\u0085\u2028\u2029])/u)
    .map((line) => (/^\s*#{1,6}.*\(by\b/iu.test(line) ? line.replace('#', String.raw`\#`) : line))
    .join('');
