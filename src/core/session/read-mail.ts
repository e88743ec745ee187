// Mail that a session reads: in view once, and never again.
import { decodeMessage } from '#base';
import type { Mail, Source } from '#contracts';
import { shownBytesMax } from '#core/cells';
import { isLongMail, mailOutput, mailText } from '#core/rules';
import type { ResolvedSource } from '#core/rules';
import { mailBytesMax } from './send-mail.ts';
import type { PendingSender, Session } from './state.ts';

export const crossingAt = ({ cell }: Session, seq: number): Extract<ResolvedSource, { from: 'crossing' }> => {
  const { kind, content } = cell.runtime.arrivals.at(seq)!;
  return { from: 'crossing', kind, content };
};

/** What woke it, shown as messages. Those who asked something wait for an answer. */
export const showMail = (session: Session, seqs: readonly number[]): void => {
  const { cell, window } = session;
  // Who cannot read on is shown all of it.
  const shownMax = session.tools.has('read_output') ? shownBytesMax(cell.limits) : mailBytesMax;
  for (const seq of seqs) {
    const nth = cell.nextOutput('mail');
    const crossing = crossingAt(session, seq);
    if (isLongMail(crossing, shownMax)) cell.keepOutput(mailOutput(nth), { text: mailText(crossing) });
    const of: readonly Source[] = [{ from: 'crossing', seq }];
    // probe: mail-show
    window.add({ rule: 'mail@1', of, with: [shownMax, nth] }, 'DIALOG');
  }
  session.askers = seqs.flatMap((seq) => askerOf(session, seq));
  countHops(session, seqs);
  for (const seq of seqs) cell.runtime.arrivals.forgetMail(seq);
};

/** What a person says in the middle of its work is answered with that: nobody can write to a person in another way. */
export const readMail = (session: Session, seqs: readonly number[]): void => {
  const asked = seqs.flatMap((seq) => askerOf(session, seq)).filter(({ from }) => from === 'outside');
  session.askers = [...session.askers, ...asked];
  // probe: mail-read-hops
  countHops(session, seqs);
};

/** Who answers has read: its own messages are one more. */
const countHops = (session: Session, seqs: readonly number[]): void => {
  for (const seq of seqs) {
    const { kind, content } = crossingAt(session, seq);
    if (kind !== 'result') session.hops = Math.max(session.hops, (decodeMessage(content) as Mail).hops);
  }
};

/** An answer, a result or a broadcast asks for none. */
const askerOf = (session: Session, seq: number): readonly PendingSender[] => {
  const { kind, content } = crossingAt(session, seq);
  const from = session.cell.runtime.arrivals.at(seq)?.from;
  if (kind !== 'message' || from === undefined) return [];
  const { id, message_type: type, hops } = decodeMessage(content) as Mail;
  return type === 'message' ? [{ from, id, hops }] : [];
};
