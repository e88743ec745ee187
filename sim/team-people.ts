// The people around a team: they ask for a graph of tasks, add some while it works, and write to its members.
import type { Agent, RunSession, Task, TeamSession } from '#contracts';
import { codeOf } from './code-of.ts';
import type { SimulatedCloister } from './cloister.ts';
import type { Following } from './history.ts';
import type { RunPlan, TeamAsk } from './plan.ts';
import type { Process } from './process.ts';
import { optionsOf } from './tasks.ts';

type Followed = { readonly process: Process; readonly session: RunSession; readonly resumed: boolean };

/** Of an agent or a team. */
export const askFor = (
  cloister: SimulatedCloister['cloister'],
  agent: Agent,
  goal: string,
  plan: RunPlan,
): RunSession => {
  if (plan.team === null) return cloister.run(agent, goal, optionsOf(plan));
  const { tasks, answer, planOnly } = plan.team;
  const { budget } = plan;
  const options = budget === undefined ? {} : { budget };
  if (tasks === null) return cloister.runTeam(agent, goal, { ...options, planOnly });
  return cloister.runTasks(agent, tasks, { ...options, goal, answer });
};

const isTeam = (session: RunSession): session is TeamSession => 'addTasks' in session;

/** As its session has them; null when it is none of a team. */
export const tasksNow = (session: RunSession): readonly Task[] | null =>
  isTeam(session) ? [...session.queue.tasks()].map((task) => ({ ...task })) : null;

/** Whoever has had no answer may say the same again to whoever goes on with the run. */
export const tellTeam = (followed: Followed, following: Following, { adds, words }: TeamAsk): void => {
  const { process, resumed } = followed;
  const { random } = process.world;
  for (const { afterMs, tasks } of adds) {
    if (resumed && random.chance(0.5)) continue;
    process.later(afterMs, 'add tasks', () => void add(followed, following, tasks));
  }
  for (const one of words) {
    if (resumed && random.chance(0.5)) continue;
    process.later(one.afterMs, 'tell', () => tell(followed, following, one));
  }
};

const excused = ['tasks_invalid', 'cell_ended'];

const add = async (
  { process, session }: Followed,
  { endedAt }: Following,
  tasks: Parameters<TeamSession['addTasks']>[0],
): Promise<void> => {
  const { world } = process;
  if (endedAt !== null || !process.alive || !isTeam(session)) return;
  const ids = tasks.map(({ id }) => id).join(', ');
  try {
    await session.addTasks(tasks);
    world.trace.note(`run ${session.run} was given tasks in ${process.no}: ${ids}`);
    world.faults.count('team: tasks added');
  } catch (error) {
    const code = codeOf(error);
    world.trace.note(`run ${session.run} took no tasks in ${process.no}: ${ids}: ${code}`);
    world.faults.count(`tasks refused: ${code}`);
    if (!excused.includes(code)) world.uncaught.push(String(error));
  }
};

const tell = ({ process, session }: Followed, { endedAt }: Following, { to, what }: TeamAsk['words'][number]): void => {
  const { world } = process;
  if (endedAt !== null || !process.alive) return;
  const text = `tell ${world.random.hex()}`;
  const common = { process: process.no, run: session.run, bytes: text.length, after: null, to: null };
  try {
    if (what === 'finish') session.finish();
    else {
      const id = session.send(text, what === 'team' ? {} : { to: what === 'nobody' ? 'nobody' : to });
      world.mailings.push({ ...common, code: null, said: id });
    }
    world.trace.note(`run ${session.run} was told "${text}" (${what} ${to}) in ${process.no}`);
    world.faults.count(`team: words to ${what}`);
  } catch (error) {
    const code = codeOf(error);
    world.trace.note(`run ${session.run} was not told (${what} ${to}) in ${process.no}: ${code}`);
    world.faults.count(`words refused: ${code}`);
    if (what !== 'finish') world.mailings.push({ ...common, code, said: String(error) });
    else if (code !== 'cell_ended') world.uncaught.push(String(error));
  }
};
