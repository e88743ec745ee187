// Shows a session its mail. Each message is shown once.
import { decodeMail } from '#contracts';
import type { CrossingEnd, Mail, Source } from '#contracts';
import { isLongMail, mailOutputName, mailBody } from '#core/rules';
import type { ResolvedSource } from '#core/rules';
import { mailBytesMax } from './send-mail.ts';
import type { Session } from './state.ts';

export const crossingAt = ({ cell }: Session, seq: number): Extract<ResolvedSource, { from: 'crossing' }> => {
  const { kind, content } = cell.runtime.received.at(seq)!;
  return { from: 'crossing', kind, content };
};

/** Shows the messages that woke the session, and notes whom it works for. */
export const showMail = (session: Session, seqs: readonly number[]): void => {
  const { cell, window } = session;
  // Without read_output the session cannot read the rest, so it is shown the full text.
  const shownMax = session.tools.has('read_output') ? cell.shownBytesMax : mailBytesMax;
  for (const seq of seqs) {
    const nth = cell.nextOutputNumber('mail');
    const crossing = crossingAt(session, seq);
    if (isLongMail(crossing, shownMax)) cell.storeOutput(mailOutputName(nth), { text: mailBody(crossing) });
    const of: readonly Source[] = [{ from: 'crossing', seq }];
    // probe: mail-show
    window.add({ rule: 'mail@1', of, with: [shownMax, nth] }, 'DIALOG');
  }
  const mail = decodeReceived(session, seqs);
  const newest = mail.findLast(isAsking);
  session.asker = newest === undefined ? null : { from: newest.from, id: newest.id };
  noteReads(session, mail);
  for (const seq of seqs) cell.runtime.received.forgetMail(seq);
};

/** The session was shown a person's messages while it worked for another. Now it works for that person. */
export const showDeferred = (session: Session): void => {
  const { deferred, window } = session;
  const of = deferred.map(({ seq }): Source => ({ from: 'crossing', seq }));
  window.add({ rule: 'deferred@1', of }, 'DIALOG');
  const { id, chain } = deferred.at(-1)!;
  session.asker = { from: 'outside', id };
  session.reads = [{ from: 'outside', chain, isFollowed: false }];
  session.deferred = [];
  for (const { seq } of deferred) session.cell.runtime.received.forgetMail(seq);
};

/**
 * Notes mail that was read during a turn. It makes nobody an asker: only a further message of the asker itself is answered with
 * this work. A person's message is answered with the next work, because an agent cannot write to a person otherwise.
 */
export const noteMailRead = (session: Session, seqs: readonly number[]): void => {
  const mail = decodeReceived(session, seqs);
  for (const { seq, from, id, chain } of mail.filter(isAsking)) {
    // probe: mail-read-asker
    if (from === session.asker?.from) session.asker = { from, id };
    else if (from === 'outside') session.deferred = [...session.deferred, { seq, id, chain }];
  }
  // probe: mail-read-chain
  noteReads(session, mail);
};

type ReceivedMail = Mail & { readonly seq: number; readonly from: CrossingEnd };

/** The mail among these, without the results of children. */
const decodeReceived = ({ cell }: Session, seqs: readonly number[]): readonly ReceivedMail[] =>
  seqs.flatMap((seq): readonly ReceivedMail[] => {
    const { kind, from, content } = cell.runtime.received.at(seq)!;
    return kind === 'result' ? [] : [{ ...decodeMail(content), seq, from }];
  });

/** What the session writes from now on is in the chain of what it has read. The result of a child belongs to no chain. */
const noteReads = (session: Session, mail: readonly ReceivedMail[]): void => {
  for (const { from, chain } of mail)
    session.reads = [...session.reads.filter((read) => read.from !== from), { from, chain, isFollowed: false }];
};

/** An answer or a broadcast awaits no reply. */
const isAsking = ({ message_type: type }: Mail): boolean => type === 'message';
