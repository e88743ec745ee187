// The caller of one session: awaits its outcome, reads its events along, cancels it.
import type { RunId } from '#base';
import type { RunSession } from '#contracts';
import { codeOf } from './code-of.ts';
import type { Following } from './history.ts';
import { mailAsPlanned } from './mailers.ts';
import type { CancelPlan, RunPlan } from './plan.ts';
import type { Process } from './process.ts';
import { hop } from './scheduler.ts';
import { tasksNow, tellTeam } from './team-people.ts';
import type { World } from './world.ts';

type Followed = { readonly process: Process; readonly session: RunSession; readonly resumed: boolean };

/** `ended` is told of the outcome or the error, unless the process is dead by then. */
export const follow = (followed: Followed, plan: RunPlan, ended: (following: Following) => void): void => {
  const { process, session, resumed } = followed;
  const { world } = process;
  const following: Following = {
    process: process.no,
    run: session.run,
    resumed,
    startedAt: world.now,
    endedAt: null,
    outcome: null,
    error: null,
    cancelledAt: null,
    cancelledIn: null,
    ownedAtEnd: false,
    events: null,
    readAll: false,
    stalled: plan.reader === 'stalls',
    pieces: 0,
    tasks: null,
  };
  world.followings.push(following);
  if (plan.cancel !== null && !(resumed && world.random.chance(0.5))) {
    cancelAsPlanned(process, plan.cancel, session.run, () => cancelSession(followed, following));
  }
  for (const { afterMs, text } of plan.gives) process.later(afterMs, 'give', () => give(followed, following, text));
  mailAsPlanned(followed, following, plan);
  if (plan.team !== null) tellTeam(followed, following, plan.team);
  if (plan.reader !== null) void readAlong(followed, following, plan.reader);
  void awaitOutcome(followed, following, ended);
};

const cancelAsPlanned = (process: Process, plan: CancelPlan, run: RunId, cancel: () => void): void => {
  const { world } = process;
  if ('afterMs' in plan) process.later(plan.afterMs, 'cancel', cancel);
  else if ('kind' in plan) world.scheduler.along(plan, cancel);
  else world.watchers.push({ ...plan, process: process.no, run, due: () => hop(plan.promises, cancel) });
};

/** Notes that a session is told to stop, and what its process had written by then. */
export const noteCancel = ({ now, writings }: World, following: Following): void => {
  const { run, process } = following;
  const writing = writings.findLast((one) => one.run === run && one.process === process);
  following.cancelledAt = now;
  following.cancelledIn =
    writing === undefined || writing.releasedAt !== null ? null : { writing, after: writing.frames.length };
};

const cancelSession = ({ process, session }: Followed, following: Following): void => {
  const { world } = process;
  if (following.endedAt !== null || !process.alive) return;
  noteCancel(world, following);
  world.trace.note(`run ${session.run} cancelled in ${process.no}`);
  session.cancel();
};

/** Tells the root more, and asks for the newest child that shares something to be told too. */
const give = ({ process, session }: Followed, { endedAt }: Following, text: string): void => {
  const { world } = process;
  if (endedAt !== null || !process.alive) return;
  const frames = world.writings.findLast(({ run }) => run === session.run)?.frames ?? [];
  const child = frames.findLast(({ contents = [] }) => contents.some(({ kind }) => kind === 'share'));
  try {
    session.give(text);
    const cell = child?.contents?.find(({ kind }) => kind === 'share')?.cell;
    const copied = cell === undefined ? 0 : session.refreshShare(cell);
    world.trace.note(
      `run ${session.run} was given "${text.slice(0, 20)}" in ${process.no}, and ${copied} were handed on`,
    );
    world.faults.count('given: more to know');
    if (copied > 0) world.faults.count('given: a share again');
  } catch (error) {
    if (codeOf(error) !== 'cell_ended') throw error;
  }
};

const readAlong = async (
  { process, session }: Followed,
  following: Following,
  reader: number | 'stalls',
): Promise<void> => {
  following.events = [];
  try {
    for await (const event of session) {
      if (!process.alive) return;
      if ('id' in event) following.events.push(event);
      else following.pieces++;
      if (reader === 'stalls') await session.outcome.catch(() => undefined);
      else if (reader > 0) await process.pause(reader, 'reader');
    }
    following.readAll = process.alive;
  } catch {
    // The run could not be recorded, or what was recorded could not be read.
  }
};

const awaitOutcome = async (
  { process, session }: Followed,
  following: Following,
  ended: (following: Following) => void,
): Promise<void> => {
  const { world } = process;
  const end = (how: string): void => {
    following.endedAt = world.now;
    following.ownedAtEnd = world.disk.owners().some(([run, { pid }]) => run === session.run && pid === process.no);
    world.trace.note(`run ${session.run} in ${process.no} ended: ${how}`);
    ended(following);
  };
  try {
    const { run: _run, cell: _cell, ...outcome } = await session.outcome;
    if (!process.alive) return;
    following.outcome = outcome;
    following.tasks = tasksNow(session);
    end(outcome.status);
  } catch (error) {
    if (!process.alive) return;
    following.error = codeOf(error);
    end(`${following.error}: ${String(error)}`);
  }
};
