// A session that lives on: it waits for mail, works, answers, and waits again.
//
//   E1. While it waits it holds no slot and no timer, and the time does not count.
//   E2. An answer goes to those who asked, and to nobody else; who was written to meanwhile has been answered.
//   E3. Limits of steps, turns and time are those of one piece of work.
import { CloisterError } from '#base';
import type { Failure } from '#base';
import type { Outcome, ReceiveResult } from '#contracts';
import type { Cell } from '#core/cells';
import { shutdownOutcome, stoppedOutcome } from './session-outcome.ts';
import { WorkClock } from './limits.ts';
import { showMail } from './read-mail.ts';
import { mailLoopFailure, newMailId, sendTo } from './send-mail.ts';
import type { PendingSender, Session } from './state.ts';

type RunTurn = (session: Session) => Promise<Outcome>;

/** What wakes it for the first time; null when it has something to do already. Until then there is no session to hold. */
export const awaitFirstMail = async (cell: Cell): Promise<ReceiveResult | Failure | null> => {
  if (cell.runtime.arrivals.at(0)?.kind === 'goal') return null;
  try {
    return await nextMail(cell);
  } catch (error) {
    return error instanceof CloisterError ? error.failure : { code: 'defect', detail: String(error) };
  }
};

export const runResident = async (session: Session, work: RunTurn, first: ReceiveResult | null): Promise<Outcome> => {
  const goal = session.cell.runtime.arrivals.at(0);
  if (first === null && goal !== undefined) session.askers = [{ from: goal.from, id: null, hops: 0 }];
  else if (first === null || !wake(session, first)) return shutdownOutcome(session, false);
  for (;;) {
    const outcome = await work(session);
    if (endsAll(outcome, session)) return outcome;
    const failure = answerAll(session, outcome);
    if (failure !== null) return stoppedOutcome(session, failure);
    if (!wake(session, await nextMail(session.cell))) return shutdownOutcome(session, outcome.status !== 'failed');
  }
};

const nextMail = async (cell: Cell): Promise<ReceiveResult> => {
  const { now } = cell.runtime;
  const { no, settled } = await cell.runtime.first([
    cell.runtime.begin({ do: 'receive', name: 'wait', wanted: () => anything, timeoutMs: 0 }),
  ]);
  cell.record(no, settled!);
  // What it waits is not its time.
  cell.waited(cell.runtime.now - now);
  return settled!.ok ? settled!.value : { messages: [], closing: true };
};

/** False: it is asked to come to an end. */
const wake = (session: Session, { messages, closing }: ReceiveResult): boolean => {
  const { cell } = session;
  if (closing === true) return false;
  session.stepsBefore = cell.steps;
  session.work = new WorkClock(cell);
  session.writtenTo = [];
  session.hops = 0;
  session.missing = [];
  session.repaired = false;
  showMail(session, messages);
  return true;
};

const anything = { box: 'any', max: 100 } as const;

/** What a person asks next may still go well; a child that failed tells its parent, and is over. */
const endsAll = ({ status, failure }: Outcome, { cell }: Session): boolean => {
  if (status === 'completed' || status === 'partial') return false;
  return cell.parent !== null || status !== 'failed' || failure?.code === 'defect';
};

const answerAll = (session: Session, outcome: Outcome): Failure | null => {
  // One answer to each, to the newest of what they asked.
  const open = session.askers.filter(({ from }) => !session.writtenTo.includes(from));
  const asked = open.filter(({ from }, index) => open.findLastIndex((one) => one.from === from) === index);
  // What a root says when its own agents have woken it is for the person; nobody else could hear it.
  const isRoot = session.cell.parent === null && session.askers.length === 0;
  const askers: readonly PendingSender[] = isRoot
    ? [{ from: 'outside', id: null, hops: session.hops, unasked: true }]
    : asked;
  session.askers = [];
  if (askers.length === 0) return null;
  const hops = Math.max(...askers.map((asker) => asker.hops)) + 1;
  const loop = mailLoopFailure(
    session,
    askers.map(({ from }) => from),
    hops,
  );
  if (loop !== null) return loop;
  postAnswers(session, askers, outcome);
  return null;
};

/** Who has ended meanwhile is not there to hear it: that is recorded, and nothing else. */
const postAnswers = (
  session: Session,
  askers: readonly PendingSender[],
  { output, status, failure }: Outcome,
): void => {
  const { cell } = session;
  const { directory } = cell.runtime.liveRun.post;
  // What it said before is no answer to this.
  const hasAnswer = (status === 'completed' || status === 'partial') && output !== '';
  const drafts = askers.map((asker) => ({ asker, id: newMailId(session) }));
  cell.runtime.begin({
    do: 'post',
    name: 'mail:answer',
    about: { status, ...(failure === null ? {} : { error: failure.code }) },
    decide: (at) => {
      const dead = drafts.flatMap(({ asker: { from, id: correlation, hops, unasked }, id }) => {
        const to = from === 'outside' ? ('outside' as const) : directory.get(from);
        const text = hasAnswer ? /* probe: answer-text */ output : `(no answer: ${failure?.code ?? status})`;
        const type = unasked === true ? 'message' : 'answer';
        const draft = { id, type, text, correlation, hops: hops + 1 } as const;
        const reason = to === undefined ? 'ended' : sendTo(cell, to, draft, at);
        if (reason === null) return [];
        const name = to === undefined || to === 'outside' ? from : to.name;
        return [{ id, to: name, reason, type, correlation }];
      });
      return dead.length === 0 ? {} : { dead };
    },
  });
};
