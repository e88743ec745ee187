// The people who use a team: they request a task graph, add tasks while it works, and send messages to its members.
import type { Agent, RunSession, Task, TeamSession } from '#contracts';
import { errorCode } from './error-code.ts';
import type { SimulatedCloister } from './cloister.ts';
import type { FollowedSession } from './history.ts';
import type { RunPlan, TeamRequestPlan } from './plan.ts';
import type { Process } from './process.ts';
import { runOptions } from './run-tasks.ts';

type SessionInProcess = { readonly process: Process; readonly session: RunSession; readonly resumed: boolean };

/** Requests a run of an agent or a team. */
export const requestRun = (
  cloister: SimulatedCloister['cloister'],
  agent: Agent,
  goal: string,
  plan: RunPlan,
): RunSession => {
  if (plan.team === null) return cloister.run(agent, goal, runOptions(plan));
  const { tasks, answer, planOnly } = plan.team;
  const { budget } = plan;
  const options = budget === undefined ? {} : { budget };
  if (tasks === null) return cloister.runTeam(agent, goal, { ...options, planOnly });
  return cloister.runTasks(agent, tasks, { ...options, goal, answer });
};

const isTeam = (session: RunSession): session is TeamSession => 'addTasks' in session;

/** A copy of the session's tasks; null if it is not a team's session. */
export const copyTasks = (session: RunSession): readonly Task[] | null =>
  isTeam(session) ? [...session.queue.tasks()].map((task) => ({ ...task })) : null;

/** A person without a reply may send the same again to the process that resumes the run. */
export const scheduleTeamInput = (
  live: SessionInProcess,
  watched: FollowedSession,
  { additions, messages }: TeamRequestPlan,
): void => {
  const { process, resumed } = live;
  const { random } = process.world;
  for (const { afterMs, tasks } of additions) {
    if (resumed && random.chance(0.5)) continue;
    process.later(afterMs, 'add tasks', () => void addTasks(live, watched, tasks));
  }
  for (const one of messages) {
    if (resumed && random.chance(0.5)) continue;
    process.later(one.afterMs, 'tell', () => sendToTeam(live, watched, one));
  }
};

const allowedCodes = ['tasks_invalid', 'cell_ended'];

const addTasks = async (
  { process, session }: SessionInProcess,
  { endedAt }: FollowedSession,
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
    const code = errorCode(error);
    world.trace.note(`run ${session.run} refused tasks in ${process.no}: ${ids}: ${code}`);
    world.faults.count(`tasks refused: ${code}`);
    if (!allowedCodes.includes(code)) world.uncaught.push(String(error));
  }
};

const sendToTeam = (
  { process, session }: SessionInProcess,
  { endedAt }: FollowedSession,
  { to, what }: TeamRequestPlan['messages'][number],
): void => {
  const { world } = process;
  if (endedAt !== null || !process.alive) return;
  const text = `tell ${world.random.hex()}`;
  const common = { process: process.no, run: session.run, bytes: text.length, after: null, to: null };
  try {
    if (what === 'finish') session.finish();
    else {
      const id = session.send(text, what === 'team' ? {} : { to: what === 'nobody' ? 'nobody' : to });
      world.outsideMail.push({ ...common, code: null, result: id, hasReceipt: false });
    }
    world.trace.note(`run ${session.run} got "${text}" (${what} ${to}) in ${process.no}`);
    world.faults.count(`team: message (${what})`);
  } catch (error) {
    const code = errorCode(error);
    world.trace.note(`run ${session.run} refused a message (${what} ${to}) in ${process.no}: ${code}`);
    world.faults.count(`team message refused: ${code}`);
    if (what !== 'finish') world.outsideMail.push({ ...common, code, result: String(error), hasReceipt: false });
    else if (code !== 'cell_ended') world.uncaught.push(String(error));
  }
};
