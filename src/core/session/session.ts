// One run of an agent toward one goal.
import { CloisterError } from '#base';
import type { Failure } from '#base';
import type { Outcome } from '#contracts';
import type { Cell } from '#core/cells';
import { Window } from '#core/memory';
import { askModel, keepReply } from './ask-model.ts';
import { callTools } from './call-tools.ts';
import { answer, lastTurn, stopped } from './finish.ts';
import { WorkClock } from './limits.ts';
import { takeGiven } from './given.ts';
import { listTools } from './list-tools.ts';
import { OpenSource } from './open-source.ts';
import type { Session, SessionPorts } from './state.ts';

export const runSession = async (cell: Cell, ports: SessionPorts): Promise<Outcome> => {
  const session = openSession(cell, ports);
  const { maxToolTurns } = cell.limits;
  try {
    const unready = ports.unready ?? (session.opened.length === 0 ? null : await listTools(session));
    if (unready !== null) return stopped(session, unready);
    takeGiven(session, 'at birth');
    session.window.add({ rule: 'goal@1', of: [{ from: 'crossing', seq: 0 }] }, 'DIALOG');

    for (let turn = 1; turn <= maxToolTurns; turn++) {
      const asked = await askModel(session, turn);
      if ('failure' in asked) return stopped(session, asked.failure);
      if (asked.calls.length === 0) {
        const done = await answer(session, asked);
        if (done !== null) return done;
        continue;
      }
      keepReply(session, asked);
      const failure = await callTools(session, asked);
      if (failure !== null) return stopped(session, failure);
    }

    return await lastTurn(session, maxToolTurns + 1);
  } catch (error) {
    return stopped(session, failureFrom(error));
  } finally {
    for (const source of session.opened) ports.world.closing?.(source.close());
  }
};

const openSession = (cell: Cell, ports: SessionPorts): Session => {
  const opened = ports.sources.length === 0 ? none : ports.sources.map((use) => new OpenSource(use));
  return {
    cell,
    window: new Window(cell),
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
