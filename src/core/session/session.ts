// Runs one agent's session from its goal to its outcome.
import type { Outcome, ReceiveResult } from '#contracts';
import type { Cell } from '#core/memory';
import { ContextWindow } from '#core/memory';
import { askModel, addReplyToWindow } from './ask-model.ts';
import { callTools } from './call-tools.ts';
import { endSpawned } from './end-spawned.ts';
import { failureFrom, finishWithAnswer, runLastTurn, stoppedOutcome, retryTurnOrStop } from './session-outcome.ts';
import { WorkClock } from './limits.ts';
import { noCircuits } from './provider-circuits.ts';
import { showNewContext } from './show-new-context.ts';
import { listSourceTools } from './list-tools.ts';
import { SourceSession } from './source-session.ts';
import { awaitFirstMail, runResident } from './run-resident.ts';
import { showTask } from './show-task.ts';
import type { Session, SessionPorts } from './state.ts';

/** Most sessions open no tool sources and spawn no agents. They run the turn loop directly, so that a waiting session holds less memory. */
export const runSession = (cell: Cell, ports: SessionPorts): Promise<Outcome> => {
  const isPlain = !cell.isResident && ports.setupFailure === undefined && ports.sources.length === 0;
  return isPlain && cell.agent.children.spawns === null
    ? runTurns(openSession(cell, ports), showStart)
    : runFullSession(cell, ports);
};

const runFullSession = async (cell: Cell, ports: SessionPorts): Promise<Outcome> => {
  const first = cell.isResident ? await awaitFirstMail(cell) : null;
  const session = openSession(cell, ports);
  const outcome =
    first !== null && 'code' in first ? stoppedOutcome(session, first) : await runOpenSession(session, first);
  // From here on nobody can start an agent that would be left over.
  cell.runtime.refuseOutside('agents');
  return cell.runtime.spawnedChildren.length === 0 ? outcome : endSpawned(session, outcome);
};

const runOpenSession = async (session: Session, first: ReceiveResult | null): Promise<Outcome> => {
  const { cell, ports } = session;
  try {
    const failure = ports.setupFailure ?? (session.sources.length === 0 ? null : await listSourceTools(session));
    if (failure !== null) return stoppedOutcome(session, failure);
    if (!cell.isResident) return await runTurns(session, showStart);
    showStart(session);
    return await runResident(session, runTurns, first);
  } catch (error) {
    return stoppedOutcome(session, failureFrom(error));
  } finally {
    for (const source of session.sources) ports.world.onClosing?.(source.close());
  }
};

const showStart = (session: Session): void => {
  const { task } = session.cell.runtime;
  if (task !== null) return showTask(session, task);
  showNewContext(session, 'at creation');
  if (session.cell.runtime.received.at(0)?.kind === 'goal')
    session.window.add({ rule: 'goal@1', of: [{ from: 'crossing', seq: 0 }] }, 'DIALOG');
};

/** Runs turns until there is an answer. */
const runTurns = async (session: Session, begin?: (session: Session) => void): Promise<Outcome> => {
  try {
    begin?.(session);
    const last = session.turn + session.cell.limits.maxToolTurns;
    while (session.turn < last) {
      session.turn++;
      const turnReply = await askModel(session, session.turn);
      if ('failure' in turnReply) return retryTurnOrStop(session, turnReply.failure);
      if (turnReply.calls.length === 0) {
        const outcome = await finishWithAnswer(session, turnReply);
        if (outcome !== null && session.cell.isResident) addReplyToWindow(session, turnReply);
        if (outcome !== null) return outcome;
        continue;
      }
      addReplyToWindow(session, turnReply);
      const failure = await callTools(session, turnReply);
      if (failure !== null) return stoppedOutcome(session, failure);
    }
    session.turn++;
    return await runLastTurn(session, session.turn);
  } catch (error) {
    return stoppedOutcome(session, failureFrom(error));
  }
};

const openSession = (cell: Cell, ports: SessionPorts): Session => {
  const sources =
    ports.sources.length === 0 ? none : ports.sources.map((use) => new SourceSession(/* probe: source-use */ use));
  for (const source of sources) ports.onSource?.(source);
  const window = new ContextWindow(cell);
  const caller = cell.parent ?? 'outside';
  return {
    cell,
    window,
    ports,
    sources,
    tools: sources.length === 0 ? (ports.tools as Session['tools']) : new Map(ports.tools),
    workClock: new WorkClock(cell),
    missing: [],
    latestText: '',
    resultText: '',
    latestUsage: null,
    latestCount: null,
    shownContextCount: 0,
    shownNotes: none,
    turn: 0,
    stepsAtWake: 0,
    asker: { from: caller, id: null },
    deferred: none,
    recipients: none,
    reads: [{ from: caller, chain: null, isFollowed: false }],
    rounds: null,
    recentAnswers: none,
    sentCounts: null,
    circuits: noCircuits,
    latestModel: null,
    hasRepaired: false,
    refusedSchema: none,
    checkSteps: { left: Infinity },
  };
};

const none: readonly never[] = [];
