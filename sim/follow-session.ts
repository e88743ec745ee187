// The caller of one session: awaits its outcome, reads its events, cancels it.
import type { RunId } from '#base';
import { errorCode } from './error-code.ts';
import type { FollowedSession, TakenMessage } from './history.ts';
import { scheduleMail } from './outside-mail.ts';
import { answerQuestions } from './people.ts';
import type { CancelPlan, RunPlan } from './plan.ts';
import type { Process } from './process.ts';
import { afterPromises } from './scheduler.ts';
import { awaitReceipt } from './receipts.ts';
import type { SessionInProcess } from './receipts.ts';
import { scheduleSignals } from './remote-commands.ts';
import { guardWithSlot } from './slot-gate.ts';
import { copyTasks, scheduleTeamInput } from './team-requests.ts';
import type { World } from './world.ts';

type FollowedLive = SessionInProcess & { readonly resumed: boolean };

/** `ended` is called with the outcome or the error, unless the process is dead by then. */
export const followSession = (live: FollowedLive, plan: RunPlan, ended: (watched: FollowedSession) => void): void => {
  const { process, session, resumed } = live;
  const { world } = process;
  const watched: FollowedSession = {
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
    taken: null,
    heardAll: false,
    agentsWhenBack: null,
    askedToFinish: false,
    hasReceipt: false,
  };
  world.sessions.push(watched);
  if (plan.cancel !== null && !(resumed && world.random.chance(0.5))) {
    scheduleCancel(process, plan.cancel, session.run, () => cancelSession(live, watched));
  }
  for (const { afterMs, text } of plan.gives) process.later(afterMs, 'give', () => give(live, watched, text));
  scheduleMail(live, watched, plan);
  if (plan.resident !== null && resumed) void noteAgentsWhenBack(live, watched);
  if (plan.resident !== null && plan.resident.listens !== null) void listen(live, watched, plan.resident.listens);
  if (plan.people !== null) {
    guardWithSlot(process, session, plan.people);
    answerQuestions(live, watched, plan.people);
  }
  if (world.givesReceipts) void awaitReceipt(live, () => (watched.hasReceipt = true));
  if (!resumed) scheduleSignals(process, session.run, plan);
  if (plan.team !== null) scheduleTeamInput(live, watched, plan.team);
  if (plan.reader !== null) void readEvents(live, watched, plan.reader);
  void awaitOutcome(live, watched, ended);
};

const scheduleCancel = (process: Process, plan: CancelPlan, run: RunId, cancel: () => void): void => {
  const { world } = process;
  if ('afterMs' in plan) process.later(plan.afterMs, 'cancel', cancel);
  else if ('kind' in plan) world.scheduler.duringEvent(plan, cancel);
  else world.watchers.push({ ...plan, process: process.no, run, due: () => afterPromises(plan.promises, cancel) });
};

/** Records that a session is cancelled, and what its process had written by then. */
export const noteCancel = ({ now, writings }: World, watched: FollowedSession): void => {
  const { run, process } = watched;
  const writing = writings.findLast((one) => one.run === run && one.process === process);
  watched.cancelledAt = now;
  watched.cancelledIn =
    writing === undefined || writing.releasedAt !== null ? null : { writing, after: writing.frames.length };
};

const cancelSession = ({ process, session }: SessionInProcess, watched: FollowedSession): void => {
  const { world } = process;
  if (watched.endedAt !== null || !process.alive) return;
  noteCancel(world, watched);
  world.trace.note(`run ${session.run} cancelled in ${process.no}`);
  session.cancel();
};

/** Gives the root more context, and refreshes the latest child that shares context. */
const give = ({ process, session }: SessionInProcess, { endedAt }: FollowedSession, text: string): void => {
  const { world } = process;
  if (endedAt !== null || !process.alive) return;
  const frames = world.writings.findLast(({ run }) => run === session.run)?.frames ?? [];
  const child = frames.findLast(({ contents = [] }) => contents.some(({ kind }) => kind === 'share'));
  try {
    session.addContext(text);
    const cell = child?.contents?.find(({ kind }) => kind === 'share')?.cell;
    const copied = cell === undefined ? 0 : session.refreshShare(cell);
    world.trace.note(
      `run ${session.run} was given "${text.slice(0, 20)}" in ${process.no}; ${copied} messages were shared`,
    );
    world.faults.count('context: given');
    if (copied > 0) world.faults.count('context: share refreshed');
  } catch (error) {
    if (errorCode(error) !== 'cell_ended') throw error;
  }
};

const readEvents = async (
  { process, session }: SessionInProcess,
  watched: FollowedSession,
  reader: number | 'stalls',
): Promise<void> => {
  watched.events = [];
  try {
    for await (const event of session) {
      if (!process.alive) return;
      if ('id' in event) watched.events.push(event);
      else watched.pieces++;
      if (reader === 'stalls') await session.outcome.catch(() => undefined);
      else if (reader > 0) await process.pause(reader, 'reader');
    }
    watched.readAll = process.alive;
  } catch {
    // The run could not be recorded, or its records could not be read.
  }
};

/** The person of a resident: takes what its agents say, one message after the other. */
const listen = async (
  { process, session }: SessionInProcess,
  watched: FollowedSession,
  delayMs: number,
): Promise<void> => {
  const taken: TakenMessage[] = (watched.taken = []);
  const { world } = process;
  try {
    for await (const { id, text, unasked } of session.messages()) {
      if (!process.alive) return;
      const { frames = [] } = writtenBy(watched, world) ?? {};
      // What is on disk is there after a crash, whether this process has heard of the commit or not.
      taken.push({ id, text, after: frames.length, onDisk: world.disk.length(session.run) });
      world.faults.count(unasked ? 'mail: unasked message taken' : 'mail: answer taken');
      if (delayMs > 0) await process.pause(delayMs, 'listener');
    }
    watched.heardAll = process.alive;
  } catch {
    // The run could not be recorded, or its records could not be read.
  }
};

const writtenBy = ({ run, process }: FollowedSession, { writings }: World) =>
  writings.findLast((one) => one.run === run && one.process === process);

/** Its agents are there as soon as the run is back. */
const noteAgentsWhenBack = async ({ process, session }: SessionInProcess, watched: FollowedSession): Promise<void> => {
  for (let tries = 0; tries < 50 && process.alive && watched.endedAt === null; tries++) {
    const agents = session.agents();
    if (agents.length > 0) {
      const { world } = process;
      const after = writtenBy(watched, world)?.frames.at(-1)?.no ?? world.disk.length(session.run) - 1;
      watched.agentsWhenBack = { cells: agents.map(({ cell }) => cell), after };
      return;
    }
    await Promise.resolve();
  }
};

const awaitOutcome = async (
  { process, session }: SessionInProcess,
  watched: FollowedSession,
  ended: (watched: FollowedSession) => void,
): Promise<void> => {
  const { world } = process;
  const end = (how: string): void => {
    watched.endedAt = world.now;
    watched.ownedAtEnd = world.disk.owners().some(([run, { pid }]) => run === session.run && pid === process.no);
    world.trace.note(`run ${session.run} in ${process.no} ended: ${how}`);
    ended(watched);
  };
  try {
    const { run: _run, cell: _cell, ...outcome } = await session.outcome;
    if (!process.alive) return;
    watched.outcome = outcome;
    watched.tasks = copyTasks(session);
    end(outcome.status);
  } catch (error) {
    if (!process.alive) return;
    watched.error = errorCode(error);
    end(`${watched.error}: ${String(error)}`);
  }
};
