// Every task ends in one final state, the same to whoever asks; and a team says what it has and what it has not.
import type { Envelope, Outcome, Task } from '#contracts';
import { readRunTasks } from '#core/audit';
import type { RunHistory } from '../history.ts';
import type { Judge, Say } from './judge.ts';
import { isOver } from './team-model.ts';
import type { ModelTask } from './team-model.ts';
import { storiesIn } from './teams.ts';
import type { TeamStory } from './team-story.ts';

type Seen = Pick<Task, 'id' | 'status' | 'attempts' | 'assignee' | 'reason'> & Partial<Pick<Task, 'result'>>;

export const teamEnds: Judge = {
  name: 'every task ends once, and the same is told of it',
  look: (history, say) => {
    let checks = 0;
    for (const { run, story } of storiesIn(history)) {
      const { outcome, parent, birth } = story.cell;
      if (outcome === null || story.asked.planOnly === true) continue;
      const { tasks } = story.model;
      checks += tasks.length;
      for (const { id, status } of tasks) if (!isOver({ status })) say(`${id} of run ${run.run} to end`, status);
      compare(`the log of run ${run.run}`, tasks, readRunTasks(run.frames, birth.cell), say);
      const told = (outcome.data as { readonly tasks?: readonly Seen[] } | null)?.tasks ?? null;
      if (told !== null) compare(`the outcome of run ${run.run}`, tasks, told, say);
      for (const { run: of, tasks: live, outcome: ended } of history.followings)
        if (of === run.run && parent === null && ended !== null && live !== null && live.length > 0)
          compare(`the session of run ${run.run}`, tasks, live, say);
      judgeOutcome(run, story, outcome, say);
    }
    return checks;
  },
};

/** Of a team that was stopped while what had ended was still on its way, either may be told. */
const compare = (where: string, tasks: readonly ModelTask[], seen: readonly Seen[], say: Say): void => {
  if (seen.length !== tasks.length)
    say(
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
    if (words(expected) !== words(found)) say(`${task.id} in ${where}: ${words(expected)}`, words(found));
    if (code === 'dependency' && !causes.includes(one.reason?.task ?? ''))
      say(`${task.id} in ${where} blocked by ${causes.join(' or ')}`, words(one.reason ?? {}));
    if (one.result !== undefined && one.result !== result)
      say(`the result of ${task.id} in ${where}: ${result}`, `${one.result}`);
  }
};

const judgeOutcome = (run: RunHistory, story: TeamStory, outcome: Outcome, say: Say): void => {
  const { model, asked, answered, stopped } = story;
  if (model.tasks.length === 0 && asked.tasks === null) return;
  const missing = model.tasks.filter(({ status, code }) => status !== 'completed' && code !== 'condition');
  const ids = missing.slice(0, 100).map(({ id }) => id);
  const titles = missing.slice(0, 50).map(({ title }) => title);
  const answer = stopped ? null : usable(answered?.envelope ?? null);
  if (JSON.stringify(outcome.missing) !== JSON.stringify(ids))
    say(`run ${run.run} to name as missing: ${ids.join(', ') || 'nothing'}`, outcome.missing.join(', ') || 'nothing');
  const output = answer === null ? resultsOf(model.tasks, missing.length === 0) : answer.output;
  const isSaid = titles.length === 0 ? outcome.output === output : outcome.output.startsWith(output);
  if (!isSaid && outcome.failure?.code !== 'crossing_refused')
    say(`run ${run.run} to say ${JSON.stringify(output)}`, JSON.stringify(outcome.output));
  if (outcome.output !== '')
    for (const title of titles)
      if (!outcome.output.slice(output.length).includes(title))
        say(`the answer of run ${run.run} to say that it is without ${title}`, outcome.output);
  const isWhole = titles.length === 0 && model.tasks.some(({ status }) => status === 'completed');
  const isAnswered = !asked.answer || answer?.status === 'completed';
  // Cancelled after its last task and before its end, it may say either.
  const isCancelled = outcome.status === 'cancelled' && run.frames.some(({ record }) => record.type === 'cancel');
  if (!isCancelled && (outcome.status === 'completed') !== (isWhole && isAnswered && !stopped && !story.late))
    say(`run ${run.run} to end ${isWhole ? 'completed' : 'otherwise than completed'}`, outcome.status);
};

const usable = (envelope: Envelope | null): Envelope | null =>
  envelope === null || envelope.output === '' ? null : envelope;

/** Those that went into no other result. */
const resultsOf = (tasks: readonly ModelTask[], isWhole: boolean): string => {
  const done = tasks.filter(({ status }) => status === 'completed');
  const last = done.filter(({ id }) => !done.some(({ dependsOn }) => dependsOn.includes(id)));
  if (last.length === 1 && isWhole) return last[0]!.result!;
  return last.map(({ title, assignee, result }) => `## ${title} (by ${assignee})\n\n${result}`).join('\n\n');
};
