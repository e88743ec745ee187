// A team begins what it has to, in the order in which it has to: by what its tasks depend on, by priority, within its room.
import type { History, RunHistory } from '../history.ts';
import type { Judge, Say } from './judge.ts';
import { factsOf } from './facts.ts';
import type { CellFacts } from './facts.ts';
import { walkTeams } from './team-walk.ts';
import type { TeamStory } from './team-story.ts';

type Told = { readonly stories: readonly TeamStory[]; readonly problems: readonly (readonly [string, string])[] };

const known = new WeakMap<RunHistory, Told>();

const toldOf = (run: RunHistory): Told => {
  let told = known.get(run);
  if (told === undefined) {
    const problems: (readonly [string, string])[] = [];
    const stories = walkTeams(run, (expected, seen) => problems.push([expected, seen]));
    known.set(run, (told = { stories, problems }));
  }
  return told;
};

/** Each team that began, with what should have come of it. */
export const storiesIn = ({ runs }: Pick<History, 'runs'>): readonly { run: RunHistory; story: TeamStory }[] =>
  runs.flatMap((run) => toldOf(run).stories.map((story) => ({ run, story })));

export const teams: Judge = {
  name: 'a team starts what is ready, by urgency, within its room',
  look: ({ runs }, say) => {
    let checks = 0;
    for (const run of runs) {
      const { stories, problems } = toldOf(run);
      for (const [expected, seen] of problems) say(expected, seen);
      for (const story of stories) {
        checks += 1 + story.works.length;
        judgeAtOnce(run, story, say);
      }
    }
    return checks;
  },
};

/** By the log alone: how many work at once, and that no two work on one task. */
const judgeAtOnce = (run: RunHistory, { cell: team, team: { rules } }: TeamStory, say: Say): void => {
  const { parallel, capacity } = rules;
  const cells = [...factsOf(run).cells.values()].filter(
    ({ birth, parent }) => parent === team && birth.task?.part === 'task',
  );
  for (const cell of cells) {
    const there = cells.filter((one) => one.bornIn <= cell.bornIn && one.endedIn > cell.bornIn);
    const where = `when ${cell.birth.cell} is born`;
    if (there.length > parallel) say(`at most ${parallel} tasks at once ${where}`, `${there.length}`);
    const own = there.filter(({ birth }) => birth.agent === cell.birth.agent).length;
    const room = capacity[cell.birth.agent] ?? parallel;
    if (own > room) say(`at most ${room} tasks of ${cell.birth.agent} at once ${where}`, `${own}`);
    const twins = there.filter((one) => taskOf(one) === taskOf(cell)).length;
    if (twins > 1) say(`${taskOf(cell)} to be worked on once at a time`, `${twins} cells ${where}`);
  }
};

const taskOf = ({ birth }: CellFacts): string => (birth.task?.part === 'task' ? birth.task.task : '');
