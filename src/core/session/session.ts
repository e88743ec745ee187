// One run of an agent toward one goal.
import { CloisterError } from '#base';
import type { Failure } from '#base';
import type { Outcome, ReceiveResult } from '#contracts';
import type { Cell } from '#core/cells';
import { ContextWindow } from '#core/memory';
import { askModel, addReplyToWindow } from './ask-model.ts';
import { callTools } from './call-tools.ts';
import { finishWithAnswer, runLastTurn, stoppedOutcome, retryTurnOrStop } from './session-outcome.ts';
import { WorkClock } from './limits.ts';
import { shutDownSpawned } from './shut-down-spawned.ts';
import { takeReceived } from './take-received.ts';
import { listSourceTools } from './list-tools.ts';
import { SourceSession } from './source-session.ts';
import { awaitFirstMail, runResident } from './run-resident.ts';
import { showTask } from './show-task.ts';
import type { Session, SessionPorts } from './state.ts';

/** Most sessions open nothing and spawn nobody: one that waits should hold no more than its loop. */
export const runSession = (cell: Cell, ports: SessionPorts): Promise<Outcome> => {
  const isPlain = !cell.resident && ports.unready === undefined && ports.sources.length === 0;
  return isPlain && cell.agent.spawns === null ? work(openSession(cell, ports), start) : runWhole(cell, ports);
};

const runWhole = async (cell: Cell, ports: SessionPorts): Promise<Outcome> => {
  const first = cell.resident ? await awaitFirstMail(cell) : null;
  const session = openSession(cell, ports);
  const outcome = first !== null && 'code' in first ? stoppedOutcome(session, first) : await runOpen(session, first);
  if (session.spawned.length > 0) await shutDownSpawned(session);
  return outcome;
};

const runOpen = async (session: Session, first: ReceiveResult | null): Promise<Outcome> => {
  const { cell, ports } = session;
  try {
    const unready = ports.unready ?? (session.opened.length === 0 ? null : await listSourceTools(session));
    if (unready !== null) return stoppedOutcome(session, unready);
    if (!cell.resident) return await work(session, start);
    start(session);
    return await runResident(session, work, first);
  } catch (error) {
    return stoppedOutcome(session, failureFrom(error));
  } finally {
    for (const source of session.opened) ports.world.closing?.(source.close());
  }
};

const start = (session: Session): void => {
  const { task } = session.cell.runtime;
  if (task !== null) return showTask(session, task);
  takeReceived(session, 'at birth');
  if (session.cell.runtime.arrivals.at(0)?.kind === 'goal')
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
      if ('failure' in asked) return retryTurnOrStop(session, asked.failure);
      if (asked.calls.length === 0) {
        const done = await finishWithAnswer(session, asked);
        if (done !== null && session.cell.resident) addReplyToWindow(session, asked);
        if (done !== null) return done;
        continue;
      }
      addReplyToWindow(session, asked);
      const failure = await callTools(session, asked);
      if (failure !== null) return stoppedOutcome(session, failure);
    }
    session.turn++;
    return await runLastTurn(session, session.turn);
  } catch (error) {
    return stoppedOutcome(session, failureFrom(error));
  }
};

const openSession = (cell: Cell, ports: SessionPorts): Session => {
  const opened =
    ports.sources.length === 0 ? none : ports.sources.map((use) => new SourceSession(/* probe: source-use */ use));
  const window = new ContextWindow(cell);
  cell.runtime.view = window;
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
