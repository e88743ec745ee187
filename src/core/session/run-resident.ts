// Runs a resident session: it waits for mail, works, answers, and waits again.
//
//   E1. While the session waits, it holds no slot and no timer, and the time does not count.
//   E2. The session replies only to agents whose messages it works on, and not to those it already wrote to while working.
//   E3. The limits on steps, turns and time apply to each piece of work separately.
import { CloisterError } from '#base';
import type { Failure } from '#base';
import type { Outcome, ReceiveResult } from '#contracts';
import type { Cell } from '#core/cells';
import { shutdownOutcome, stoppedOutcome } from './session-outcome.ts';
import { WorkClock } from './limits.ts';
import { showMail } from './read-mail.ts';
import { mailLoopFailure, newMailId, sendTo } from './send-mail.ts';
import type { PendingSender, Session } from './state.ts';

type RunTurns = (session: Session) => Promise<Outcome>;

/** Waits for the first mail; null if the cell already has a goal. No session is created before that, to save memory. */
export const awaitFirstMail = async (cell: Cell): Promise<ReceiveResult | Failure | null> => {
  if (cell.runtime.receivedCrossings.at(0)?.kind === 'goal') return null;
  try {
    return await nextMail(cell);
  } catch (error) {
    return error instanceof CloisterError ? error.failure : { code: 'defect', detail: String(error) };
  }
};

export const runResident = async (session: Session, work: RunTurns, first: ReceiveResult | null): Promise<Outcome> => {
  const goal = session.cell.runtime.receivedCrossings.at(0);
  if (first === null && goal !== undefined) session.pendingSenders = [{ from: goal.from, id: null, hops: 0 }];
  else if (first === null || !wake(session, first)) return shutdownOutcome(session, false);
  for (;;) {
    const outcome = await work(session);
    if (endsResident(outcome, session)) return outcome;
    const failure = replyToSenders(session, outcome);
    if (failure !== null) return stoppedOutcome(session, failure);
    if (!wake(session, await nextMail(session.cell))) return shutdownOutcome(session, outcome.status !== 'failed');
  }
};

const nextMail = async (cell: Cell): Promise<ReceiveResult> => {
  const { now } = cell.runtime;
  const { no, settled } = await cell.runtime.first([
    cell.runtime.begin({ do: 'receive', name: 'wait', filter: () => anyMail, timeoutMs: 0 }),
  ]);
  cell.record(no, settled!);
  // Waiting time does not count against the deadline.
  cell.extendDeadline(cell.runtime.now - now);
  return settled!.ok ? settled!.value : { messages: [], closing: true };
};

/** False: the session was asked to finish. */
const wake = (session: Session, { messages, closing }: ReceiveResult): boolean => {
  const { cell } = session;
  if (closing === true) return false;
  session.stepsAtWake = cell.steps;
  session.workClock = new WorkClock(cell);
  session.recipients = [];
  session.hops = 0;
  session.missing = [];
  session.hasRepaired = false;
  showMail(session, messages);
  return true;
};

const anyMail = { channel: 'any', max: 100 } as const;

/** A failed root can still answer a person's next request. A failed child reports to its parent and ends. */
const endsResident = ({ status, failure }: Outcome, { cell }: Session): boolean => {
  if (status === 'completed' || status === 'partial') return false;
  return cell.parent !== null || status !== 'failed' || failure?.code === 'defect';
};

const replyToSenders = (session: Session, outcome: Outcome): Failure | null => {
  // One reply per sender, to its newest message.
  const open = session.pendingSenders.filter(({ from }) => !session.recipients.includes(from));
  const newest = open.filter(({ from }, index) => open.findLastIndex((one) => one.from === from) === index);
  // If a root was woken by its own agents, its output goes to the person: nobody else would receive it.
  const isRoot = session.cell.parent === null && session.pendingSenders.length === 0;
  const senders: readonly PendingSender[] = isRoot
    ? [{ from: 'outside', id: null, hops: session.hops, unprompted: true }]
    : newest;
  session.pendingSenders = [];
  if (senders.length === 0) return null;
  const hops = Math.max(...senders.map((sender) => sender.hops)) + 1;
  const loop = mailLoopFailure(
    session,
    senders.map(({ from }) => from),
    hops,
  );
  if (loop !== null) return loop;
  postReplies(session, senders, outcome);
  return null;
};

/** If a recipient has ended meanwhile, the reply is only recorded as undeliverable. */
const postReplies = (
  session: Session,
  senders: readonly PendingSender[],
  { output, status, failure }: Outcome,
): void => {
  const { cell } = session;
  const { directory } = cell.runtime.liveRun.mail;
  // After a failure the output is from earlier work, so it is not a reply to this message.
  const hasAnswer = (status === 'completed' || status === 'partial') && output !== '';
  const drafts = senders.map((sender) => ({ asker: sender, id: newMailId(session) }));
  cell.runtime.begin({
    do: 'post',
    name: 'mail:answer',
    about: { status, ...(failure === null ? {} : { error: failure.code }) },
    decide: (at) => {
      const dead = drafts.flatMap(({ asker: { from, id: correlation, hops, unprompted }, id }) => {
        const to = from === 'outside' ? ('outside' as const) : directory.get(from);
        const text = hasAnswer ? /* probe: answer-text */ output : `(no answer: ${failure?.code ?? status})`;
        const type = unprompted === true ? 'message' : 'answer';
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
