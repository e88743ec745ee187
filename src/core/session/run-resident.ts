// Runs a resident session: it waits for mail, works, answers, and waits again.
//
//   resident-waits-free. While the session waits, it holds no slot and no timer, and the time does not count.
//   resident-one-asker. Each piece of work is for one asker, and its answer goes to that asker only, unless the session
//       already wrote to it while working. Where the answer goes is recorded. Mail that the session reads while it works makes
//       nobody an asker.
//   resident-limits-per-work. The limits on steps, turns and time apply to each piece of work separately.
import { CloisterError } from '#base';
import type { Failure } from '#base';
import type { CrossingEnd, Outcome, PostRequest, ReceiveResult } from '#contracts';
import type { Cell } from '#core/memory';
import { answerEnd, shutdownOutcome, stoppedOutcome, textForCaller, worksForCaller } from './session-outcome.ts';
import { WorkClock } from './limits.ts';
import { showDeferred, showMail } from './read-mail.ts';
import { mailLoopFailure, newMailId } from './send-mail.ts';
import type { LatestOutcomes } from './session-outcome.ts';
import type { DeferredMessage, Session } from './state.ts';

type RunTurns = (session: Session) => Promise<Outcome>;

/** Waits for the first mail; null if the cell already has a goal. No session is created before that, to save memory. */
export const awaitFirstMail = async (cell: Cell): Promise<ReceiveResult | Failure | null> => {
  if (cell.runtime.received.at(0)?.kind === 'goal') return null;
  try {
    return await nextMail(cell);
  } catch (error) {
    return error instanceof CloisterError ? error.failure : { code: 'defect', detail: String(error) };
  }
};

export const runResident = async (session: Session, work: RunTurns, first: ReceiveResult | null): Promise<Outcome> => {
  let latest: LatestOutcomes = { last: null, forCaller: null };
  // Without mail, the session starts with its goal.
  if (first !== null && !wake(session, first)) return shutdownOutcome(session, latest, first.unread === true);
  for (;;) {
    const outcome = await work(session);
    if (endsResident(outcome, session)) return outcome;
    latest = { last: outcome, forCaller: worksForCaller(session) ? outcome : latest.forCaller };
    const failure = answerAsker(session, outcome);
    if (failure !== null) return stoppedOutcome(session, failure);
    const next = await nextMail(session.cell, session.deferred);
    if (!wake(session, next)) return shutdownOutcome(session, latest, next.unread === true);
  }
};

/** Messages of a person that the session read during its last work come first: they are no longer in the mailbox. */
const nextMail = async (cell: Cell, deferred: readonly DeferredMessage[] = []): Promise<ReceiveResult> => {
  const seqs = deferred.map(({ seq }) => seq);
  const wanted = seqs.length === 0 ? mailOfOneWork : ({ kind: 'deferred', messages: seqs } as const);
  const { no, settled } = await cell.runtime.first([
    cell.runtime.begin({ do: 'receive', name: 'wait', wanted, timeoutMs: 0 }),
  ]);
  cell.record(no, settled!);
  return settled!.ok ? settled!.value : { messages: [], closing: true };
};

/** False: the session was asked to finish. */
const wake = (session: Session, { messages, deferred, closing }: ReceiveResult): boolean => {
  const { cell } = session;
  if (closing === true) return false;
  session.stepsAtWake = cell.steps;
  session.workClock = new WorkClock(cell);
  session.resultText = session.latestText = textForCaller(session);
  session.recipients = [];
  session.reads = [];
  session.missing = [];
  session.hasRepaired = false;
  if (deferred === undefined) showMail(session, messages);
  else showDeferred(session);
  return true;
};

const mailOfOneWork = { kind: 'any', oneWork: true, max: 100 } as const;

/** A failed root can still answer a person's next request. A failed child reports to its parent and ends. */
const endsResident = ({ status, failure }: Outcome, { cell }: Session): boolean => {
  if (status === 'completed' || status === 'partial') return false;
  return cell.parent !== null || status !== 'failed' || failure?.code === 'defect';
};

/** Records where the answer went, even if it went to nobody. If the asker has ended meanwhile, it is recorded as undeliverable. */
const answerAsker = (session: Session, outcome: Outcome): Failure | null => {
  const { asker, cell } = session;
  const to = asker !== null && session.recipients.includes(asker.from) ? null : answerEnd(session);
  const loop = to === null ? null : mailLoopFailure(session, to);
  if (loop !== null) return loop;
  const { status, failure } = outcome;
  cell.runtime.begin({
    do: 'post',
    name: 'mail:answer',
    about: { status, ...(failure === null ? {} : { error: failure.code }), to },
    request: to === null ? { kind: 'record', value: {} } : answerTo(session, to, outcome),
  });
  return null;
};

const answerTo = (session: Session, to: CrossingEnd, { status, output, failure }: Outcome): PostRequest => {
  const { asker, reads } = session;
  // After a failure the output is from earlier work, so it is not a reply to this message.
  const hasAnswer = (status === 'completed' || status === 'partial') && output !== '';
  return {
    kind: 'answer',
    id: newMailId(session, `answer ${to}`),
    to,
    // Nobody asked: the root has something to say by itself.
    type: asker === null ? 'message' : 'answer',
    text: hasAnswer ? /* probe: answer-text */ output : `(no answer: ${failure?.code ?? status})`,
    correlation: asker?.id ?? null,
    reads,
  };
};
