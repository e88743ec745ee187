// Waiting for a person is nobody's working time, and a question waits as long as its agent says.
import { withChildren } from '../agents.ts';
import type { History, RunHistory } from '../history.ts';
import { askedMs, lineOf } from './asked-time.ts';
import { pausedMs, runFacts, waitedMs } from './facts.ts';
import type { CellFacts } from './facts.ts';
import type { Judge, ReportProblem } from './judge.ts';
import { questionsIn } from './question-facts.ts';

/** Times are rounded to milliseconds. */
const roundingMs = 2;

// invariants: expired-is-denied, pause-when-nothing-works
export const questionTimes: Judge = {
  name: 'waiting for a person is no working time',
  check: (history, report) => {
    const { runs, clockWasSet } = history;
    let checks = 0;
    for (const run of runs) {
      checks += judgeExpiries(run, history, report);
      if (!clockWasSet) checks += judgeDeadlines(run, report);
    }
    return checks;
  },
};

const questionTimeoutDefault = 24 * 60 * 60_000;

const judgeExpiries = (run: RunHistory, { clockWasSet, waitEnds }: History, report: ReportProblem): number => {
  const plans = new Map(withChildren(run.agent).map((plan) => [plan.name, plan]));
  const { resumes } = runFacts(run);
  for (const { ask, result } of questionsIn(run).values()) {
    const { begin, beganIn, settledIn, cell } = ask;
    const where = `question ${cell.birth.cell}/${begin.op} of run ${run.run}`;
    const askedAt = run.frames[beganIn]!.at;
    const until = begin.until ?? 0;
    // One that was spawned has no more than those that spawned it.
    const own = plans.get(cell.birth.agent)?.limits.questionTimeout ?? questionTimeoutDefault;
    if (until - askedAt > own || (cell.birth.spawned === undefined && until - askedAt !== own))
      report(`${where} to wait ${own} ms`, `${until - askedAt} ms`);
    if (result === null) continue;
    const endedAt = run.frames[settledIn]!.at;
    if (result.expired === true && endedAt < until) report(`${where} to wait until ${until}`, `it ended at ${endedAt}`);
    const wasUp = !clockWasSet && !resumes.some((no) => no > beganIn && no < settledIn);
    const late = waitEnds.find((one) => one.run === run.run && one.frame === settledIn);
    if (wasUp && endedAt > until + roundingMs + (late?.lateMs ?? 0))
      report(`${where} to end by ${until}`, `it ended at ${endedAt}`);
  }
  return questionsIn(run).size;
};

/** Nobody runs out of time because a person takes theirs. */
const judgeDeadlines = (run: RunHistory, report: ReportProblem): number => {
  // In a fork, deadlines move with the next operation only; another judge knows them.
  if (questionsIn(run).size === 0 || run.forkedFrom !== null) return 0;
  const gathers = withChildren(run.agent).some(({ gather }) => gather !== null);
  // Members that `gather` no longer waits for end in the same way.
  if (gathers) return 0;
  let checks = 0;
  const teams = withChildren(run.agent).flatMap(({ name, team }) => (team === null ? [] : [name]));
  for (const cell of runFacts(run).cells.values()) {
    // A team says why its tasks failed.
    if (teams.includes(cell.birth.agent)) continue;
    if (cell.outcome?.failure?.code !== 'deadline_passed') continue;
    checks++;
    const deadline = Math.min(...lineOf(cell).map((one) => deadlineOf(one, cell.endedIn)));
    const endedAt = run.frames[cell.endedIn]!.at;
    if (endedAt + roundingMs < deadline)
      report(`${cell.birth.cell} of run ${run.run} to have time until ${deadline}`, `it ended at ${endedAt}`);
  }
  return checks;
};

const deadlineOf = (cell: CellFacts, until: number): number =>
  cell.birth.deadline === 0
    ? Infinity
    : cell.birth.deadline + pausedMs(cell.run, cell.createdIn, until) + waitedMs(cell, until) + askedMs(cell, until);
