// The events of the messages that changed with a frame, and of the crossings in it.
import { decodeMail } from '#contracts';
import type { CrossingKind, EventError, Frame, LedgerEntry } from '#contracts';
import type { EventBody } from './event-envelope.ts';
import type { MessageFold } from './mail-states.ts';
import type { CellId } from '#base';

/** `error`: why the work that a message of this frame answers has failed. */
export const mailEvents = (frame: Frame, mail: MessageFold, error: EventError | null): readonly EventBody[] =>
  mail.next(frame).map((report): EventBody => {
    const { id: message, message_type: kind, from, to, agent_id: sender, recipient_id: recipient } = report;
    const { topic, correlation_id: correlation, state: is, reason } = report;
    const cell = is === 'queued' || to === null || to === 'outside' ? frame.cell : to;
    const text = is === 'queued' && (from === 'outside' || to === 'outside') ? mailText(frame, message) : null;
    const unasked = to === 'outside' && kind === 'message';
    const ends = { message, kind, from, to, sender, recipient, topic, correlation };
    const failed = is === 'queued' && error !== null ? { error } : {};
    return { type: 'mail', cell, ...ends, state: is, reason, text, unasked, ...failed };
  });

const mailText = ({ contents = [] }: Frame, id: string): string | null =>
  contents
    .filter(({ kind, from, to }) => isMail(kind) && (from === 'outside' || to === 'outside'))
    .map(({ content }) => decodeMail(content))
    .find((mail) => mail.id === id)?.text ?? null;

const isMail = (kind: CrossingKind): boolean => kind === 'message' || kind === 'broadcast';

/** Each crossing once: from the sender's ledger or, if it came from outside, from the receiver's. */
export const crossingEvents = (frame: Frame): readonly EventBody[] =>
  (frame.links ?? []).flatMap(({ cell, entries }) =>
    entries.filter(({ way, other }) => way === 'out' || other === 'outside').map((entry) => crossingEvent(cell, entry)),
  );

const crossingEvent = (cell: CellId, { way, kind, other, grant, bytes, sha256, verdict }: LedgerEntry): EventBody => {
  const [from, to] = way === 'in' ? [other, cell] : [cell, other];
  return verdict === 'granted'
    ? { type: 'crossing', cell, kind, from, to, grant: grant ?? '', bytes, sha256 }
    : { type: 'crossing-refused', cell, kind, from, to, reason: verdict, bytes };
};
