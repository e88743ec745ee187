// Shows a session its mail. Each message is shown once.
import { decodeMessage } from '#base';
import type { Mail, Source } from '#contracts';
import { shownBytesMax } from '#core/cells';
import { isLongMail, mailOutputName, mailBody } from '#core/rules';
import type { ResolvedSource } from '#core/rules';
import { mailBytesMax } from './send-mail.ts';
import type { PendingSender, Session } from './state.ts';

export const crossingAt = ({ cell }: Session, seq: number): Extract<ResolvedSource, { from: 'crossing' }> => {
  const { kind, content } = cell.runtime.receivedCrossings.at(seq)!;
  return { from: 'crossing', kind, content };
};

/** Shows the messages that woke the session, and notes which senders await a reply. */
export const showMail = (session: Session, seqs: readonly number[]): void => {
  const { cell, window } = session;
  // Without read_output the session cannot read the rest, so it is shown the full text.
  const shownMax = session.tools.has('read_output') ? shownBytesMax(cell.limits) : mailBytesMax;
  for (const seq of seqs) {
    const nth = cell.nextOutputNumber('mail');
    const crossing = crossingAt(session, seq);
    if (isLongMail(crossing, shownMax)) cell.storeOutput(mailOutputName(nth), { text: mailBody(crossing) });
    const of: readonly Source[] = [{ from: 'crossing', seq }];
    // probe: mail-show
    window.add({ rule: 'mail@1', of, with: [shownMax, nth] }, 'DIALOG');
  }
  session.pendingSenders = seqs.flatMap((seq) => senderAwaitingReply(session, seq));
  countHops(session, seqs);
  for (const seq of seqs) cell.runtime.receivedCrossings.forgetMail(seq);
};

/** Notes mail that was read during a turn. A person's message is answered by the turn's result: an agent cannot write to a person otherwise. */
export const noteMailRead = (session: Session, seqs: readonly number[]): void => {
  const people = seqs.flatMap((seq) => senderAwaitingReply(session, seq)).filter(({ from }) => from === 'outside');
  session.pendingSenders = [...session.pendingSenders, ...people];
  // probe: mail-read-hops
  countHops(session, seqs);
};

/** Messages the session sends from now on are one hop further than those it has read. */
const countHops = (session: Session, seqs: readonly number[]): void => {
  for (const seq of seqs) {
    const { kind, content } = crossingAt(session, seq);
    if (kind !== 'result') session.hops = Math.max(session.hops, (decodeMessage(content) as Mail).hops);
  }
};

/** Only a plain message awaits a reply; an answer, a result or a broadcast does not. */
const senderAwaitingReply = (session: Session, seq: number): readonly PendingSender[] => {
  const { kind, content } = crossingAt(session, seq);
  const from = session.cell.runtime.receivedCrossings.at(seq)?.from;
  if (kind !== 'message' || from === undefined) return [];
  const { id, message_type: type, hops } = decodeMessage(content) as Mail;
  return type === 'message' ? [{ from, id, hops }] : [];
};
