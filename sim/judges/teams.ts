// A team starts its tasks in the right order: by dependencies and priority, within its capacity.
import type { History, RunHistory } from '../history.ts';
import type { Judge, ReportProblem } from './judge.ts';
import { runFacts } from './facts.ts';
import type { CellFacts } from './facts.ts';
import { walkTeams } from './team-walk.ts';
import type { ExpectedTeamRun } from './expected-team-run.ts';

type TeamWalks = {
  readonly expected: readonly ExpectedTeamRun[];
  readonly problems: readonly (readonly [string, string])[];
};

const known = new WeakMap<RunHistory, TeamWalks>();

const walkOnce = (run: RunHistory): TeamWalks => {
  let told = known.get(run);
  if (told === undefined) {
    const problems: (readonly [string, string])[] = [];
    const stories = walkTeams(run, (expected, seen) => problems.push([expected, seen]));
    known.set(run, (told = { expected: stories, problems }));
  }
  return told;
};

/** Each team run, with its expected course. */
export const expectedTeamRuns = ({
  runs,
}: Pick<History, 'runs'>): readonly { run: RunHistory; story: ExpectedTeamRun }[] =>
  runs.flatMap((run) => walkOnce(run).expected.map((story) => ({ run, story })));

export const teams: Judge = {
  name: 'teams start ready tasks by priority and room',
  check: ({ runs }, report) => {
    let checks = 0;
    for (const run of runs) {
      const { expected: stories, problems } = walkOnce(run);
      for (const [expected, seen] of problems) report(expected, seen);
      for (const story of stories) {
        checks += 1 + story.attempts.length;
        judgeAtOnce(run, story, report);
      }
    }
    return checks;
  },
};

/** Checks in the log alone how many tasks run in parallel, and that no task runs twice at the same time. */
const judgeAtOnce = (
  run: RunHistory,
  { cell: team, team: { rules } }: ExpectedTeamRun,
  report: ReportProblem,
): void => {
  const { parallel, capacity } = rules;
  const cells = [...runFacts(run).cells.values()].filter(
    ({ birth, parent }) => parent === team && birth.task?.part === 'task',
  );
  for (const cell of cells) {
    const there = cells.filter((one) => one.createdIn <= cell.createdIn && one.endedIn > cell.createdIn);
    const where = `when ${cell.birth.cell} is created`;
    if (there.length > parallel) report(`at most ${parallel} tasks at once ${where}`, `${there.length}`);
    const own = there.filter(({ birth }) => birth.agent === cell.birth.agent).length;
    const room = capacity[cell.birth.agent] ?? parallel;
    if (own > room) report(`at most ${room} tasks of ${cell.birth.agent} at once ${where}`, `${own}`);
    const parallelTries = there.filter((one) => taskOf(one) === taskOf(cell)).length;
    if (parallelTries > 1) report(`${taskOf(cell)} to run once at a time`, `${parallelTries} cells ${where}`);
  }
};

const taskOf = ({ birth }: CellFacts): string => (birth.task?.part === 'task' ? birth.task.task : '');
