// One run of an agent toward one goal.
import { CloisterError } from '#base';
import type { Failure } from '#base';
import type { Outcome, ReceivedValue } from '#contracts';
import type { Cell } from '#core/cells';
import { Window } from '#core/memory';
import { askModel, keepReply } from './ask-model.ts';
import { callTools } from './call-tools.ts';
import { answer, lastTurn, stopped, unanswered } from './finish.ts';
import { WorkClock } from './limits.ts';
import { endSpawned } from './end-spawned.ts';
import { takeGiven } from './given.ts';
import { listTools } from './list-tools.ts';
import { OpenSource } from './open-source.ts';
import { firstMail, reside } from './reside.ts';
import { showTask } from './show-task.ts';
import type { Session, SessionPorts } from './state.ts';

/** Most sessions open nothing and spawn nobody: one that waits should hold no more than its loop. */
export const runSession = (cell: Cell, ports: SessionPorts): Promise<Outcome> => {
  const isPlain = !cell.resident && ports.unready === undefined && ports.sources.length === 0;
  return isPlain && cell.agent.spawns === null ? work(openSession(cell, ports), start) : runWhole(cell, ports);
};

const runWhole = async (cell: Cell, ports: SessionPorts): Promise<Outcome> => {
  const first = cell.resident ? await firstMail(cell) : null;
  const session = openSession(cell, ports);
  const outcome = first !== null && 'code' in first ? stopped(session, first) : await runOpen(session, first);
  if (session.spawned.length > 0) await endSpawned(session);
  return outcome;
};

const runOpen = async (session: Session, first: ReceivedValue | null): Promise<Outcome> => {
  const { cell, ports } = session;
  try {
    const unready = ports.unready ?? (session.opened.length === 0 ? null : await listTools(session));
    if (unready !== null) return stopped(session, unready);
    if (!cell.resident) return await work(session, start);
    start(session);
    return await reside(session, work, first);
  } catch (error) {
    return stopped(session, failureFrom(error));
  } finally {
    for (const source of session.opened) ports.world.closing?.(source.close());
  }
};

const start = (session: Session): void => {
  const { task } = session.cell.home;
  if (task !== null) return showTask(session, task);
  takeGiven(session, 'at birth');
  if (session.cell.home.arrivals.at(0)?.kind === 'goal')
    session.window.add({ rule: 'goal@1', of: [{ from: 'crossing', seq: 0 }] }, 'DIALOG');
};

/** Turns, until there is an answer. */
const work = async (session: Session, begin?: (session: Session) => void): Promise<Outcome> => {
  try {
    begin?.(session);
    const last = session.turn + session.cell.limits.maxToolTurns;
    while (session.turn < last) {
      session.turn++;
      const asked = await askModel(session, session.turn);
      if ('failure' in asked) return unanswered(session, asked.failure);
      if (asked.calls.length === 0) {
        const done = await answer(session, asked);
        if (done !== null && session.cell.resident) keepReply(session, asked);
        if (done !== null) return done;
        continue;
      }
      keepReply(session, asked);
      const failure = await callTools(session, asked);
      if (failure !== null) return stopped(session, failure);
    }
    session.turn++;
    return await lastTurn(session, session.turn);
  } catch (error) {
    return stopped(session, failureFrom(error));
  }
};

const openSession = (cell: Cell, ports: SessionPorts): Session => {
  const opened =
    ports.sources.length === 0 ? none : ports.sources.map((use) => new OpenSource(/* probe: source-use */ use));
  const window = new Window(cell);
  cell.home.view = window;
  return {
    cell,
    window,
    ports,
    opened,
    tools: opened.length === 0 ? (ports.tools as Session['tools']) : new Map(ports.tools),
    work: new WorkClock(cell),
    missing: [],
    text: '',
    reported: null,
    counted: null,
    givenShown: 0,
    noted: none,
    turn: 0,
    stepsBefore: 0,
    spawned: none,
    askers: none,
    writtenTo: none,
    hops: 0,
    answeredAt: none,
    mails: 0,
    spawnedAt: none,
    answeredBy: null,
    repaired: false,
  };
};

const none: readonly never[] = [];

/** A defect stops this session only, and says so. */
const failureFrom = (error: unknown): Failure => {
  if (error instanceof CloisterError) return error.failure;
  return { code: 'defect', detail: error instanceof Error ? error.message : String(error) };
};
