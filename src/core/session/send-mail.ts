// Sends a session's mail. The runtime builds each message, and it crosses in the record of the operation that sends it.
//
//   N1. The sender is set here, so a model cannot forge it.
//   N2. Each message counts the messages that led to it. A session that exceeds the limit is in a loop, and ends.
import { CloisterError, encodeMessage, sha256, utf8Bytes } from '#base';
import type { CellId, Failure } from '#base';
import type { DeadReason, CrossingEnd, Grant, Mail } from '#contracts';
import { cross } from '#core/crossings';
import type { Cell, Member } from '#core/cells';
import type { Session } from './state.ts';

export const mailBytesMax = 256_000;

/** A message to send. `id` is drawn before sending, so that it is the same on replay. */
export type MailDraft = {
  readonly id: string;
  readonly type: Mail['message_type'];
  readonly text: string;
  readonly topic?: string;
  readonly correlation: string | null;
  readonly expiresMs?: number;
  /** The intended recipient, if the receiving cell accepts mail on its behalf. */
  readonly recipient?: string | undefined;
  readonly hops: number;
};

/** An opaque id that reveals nothing about its sender. */
export const newMailId = (session: Session): string =>
  `m-${sha256(/* probe: mail-id */ `${session.cell.runtime.cellId} mail ${session.sentCount++}`).slice(0, 12)}`;

/** The sender's entry in the directory. */
export const senderIdentity = ({ runtime }: Cell): Member => {
  const self = runtime.liveRun.mail.directory.get(runtime.cellId);
  if (self === undefined) throw new CloisterError('defect', 'A cell without an address tried to send mail.');
  return self;
};

/** Null if the message crossed; otherwise why it did not. */
export const sendTo = (cell: Cell, to: Member | 'outside', draft: MailDraft, at: number): DeadReason | null => {
  const self = senderIdentity(cell);
  const kind = draft.type === 'broadcast' ? 'broadcast' : 'message';
  const { id, type, text, topic, correlation, expiresMs, recipient, hops } = draft;
  const head: Omit<Mail, 'text'> = {
    id,
    message_type: type,
    // probe: mail-sender
    agent_id: self.name,
    recipient_id: to === 'outside' ? 'person' : (recipient ?? to.name),
    ...(topic === undefined ? {} : { topic }),
    correlation_id: correlation,
    at,
    ...(expiresMs === undefined ? {} : { expires_at: at + expiresMs }),
    hops,
  };
  const content = encodeMessage(head, /* probe: mail-text */ text);
  // An answer always fits: there is at most one for each message that its reader sent.
  if (to !== 'outside' && type !== 'answer' && !to.mailbox.hasRoom(self.cell, utf8Bytes(content))) return 'overflow';
  const end: CrossingEnd = to === 'outside' ? to : to.cell;
  const { runtime, agent } = cell;
  const granted = maySend(cell, kind, to) ? [mailGrant(kind, runtime.cellId, end)] : [];
  const grants = runtime.liveRun.amendments.grants(agent.name, granted, runtime.nextFrame);
  const passed = cross(
    { kind, from: runtime.cellId, to: end, content, labels: [] },
    { grants, ledger: runtime.liveRun.ledger, at },
  );
  return 'refused' in passed ? 'refused' : null;
};

/**
 * A root may send out of the run only if its results may leave the run; a child may always answer a person.
 * For a broadcast, the caller has already checked who may publish and subscribe.
 */
const maySend = (cell: Cell, kind: 'message' | 'broadcast', to: Member | 'outside'): boolean => {
  if (to === 'outside') return cell.parent !== null || cell.agent.grants.includes('result');
  // probe: mail-may-pass
  return kind === 'broadcast' || cell.runtime.liveRun.mail.directory.allows(senderIdentity(cell), to);
};

const mailGrant = (kind: 'message' | 'broadcast', from: CellId, to: CrossingEnd): Grant => ({
  name: kind,
  kind,
  from,
  to,
});

/** Why no further answer may be sent: agents have been answering each other for too long, or too fast. */
export const mailLoopFailure = (session: Session, to: readonly string[], hops: number): Failure | null => {
  const { limits, runtime } = session.cell;
  if (hops > limits.maxHops)
    return {
      code: 'mail_loop',
      detail: `The chain of replies is ${hops} messages long; the limit is ${limits.maxHops}.`,
    };
  if (hops < 2) return null;
  const recent = session.recentAnswers.filter(({ at }) => at > runtime.now - 60_000);
  session.recentAnswers = [...recent, ...to.map((one) => ({ to: one, at: runtime.now }))];
  const isTooOften = to.some((one) => recent.filter((answer) => answer.to === one).length >= limits.answersPerMinute);
  return isTooOften
    ? { code: 'mail_loop', detail: `More than ${limits.answersPerMinute} replies to the same agent within a minute.` }
    : null;
};
