// Shows a session its mail. Each message is shown once.
import { decodeMessage } from '#base';
import type { Mail, Source } from '#contracts';
import { shownBytesMax } from '#core/cells';
import { isLongMail, mailOutputName, mailBody } from '#core/rules';
import type { ResolvedSource } from '#core/rules';
import { mailBytesMax } from './send-mail.ts';
import type { Asker, Session } from './state.ts';

export const crossingAt = ({ cell }: Session, seq: number): Extract<ResolvedSource, { from: 'crossing' }> => {
  const { kind, content } = cell.runtime.receivedCrossings.at(seq)!;
  return { from: 'crossing', kind, content };
};

/** Shows the messages that woke the session, and notes whom it works for. */
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
  session.asker = askersOf(session, seqs).at(-1) ?? null;
  countHops(session, seqs);
  for (const seq of seqs) cell.runtime.receivedCrossings.forgetMail(seq);
};

/** The session was shown a person's messages while it worked for another. Now it works for that person. */
export const showDeferred = (session: Session): void => {
  const { deferred, window } = session;
  const of = deferred.map(({ seq }): Source => ({ from: 'crossing', seq }));
  window.add({ rule: 'deferred@1', of }, 'DIALOG');
  const { id, hops } = deferred.at(-1)!;
  session.asker = { from: 'outside', id, hops };
  session.deferred = [];
  session.hops = Math.max(...deferred.map((one) => one.hops));
  for (const { seq } of deferred) session.cell.runtime.receivedCrossings.forgetMail(seq);
};

/**
 * Notes mail that was read during a turn. It makes nobody an asker: only a further message of the asker itself is answered with
 * this work. A person's message is answered with the next work, because an agent cannot write to a person otherwise.
 */
export const noteMailRead = (session: Session, seqs: readonly number[]): void => {
  for (const { seq, ...sender } of askersOf(session, seqs)) {
    // probe: mail-read-asker
    if (sender.from === session.asker?.from) session.asker = sender;
    else if (sender.from === 'outside')
      session.deferred = [...session.deferred, { seq, id: sender.id, hops: sender.hops }];
  }
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

/** The senders of plain messages: an answer, a result or a broadcast awaits no reply. */
const askersOf = (session: Session, seqs: readonly number[]) =>
  seqs.flatMap((seq): readonly (Asker & { readonly seq: number; readonly id: string })[] => {
    const { kind, content } = crossingAt(session, seq);
    const from = session.cell.runtime.receivedCrossings.at(seq)?.from;
    if (kind !== 'message' || from === undefined) return [];
    const { id, message_type: type, hops } = decodeMessage(content) as Mail;
    return type === 'message' ? [{ from, id, hops, seq }] : [];
  });
