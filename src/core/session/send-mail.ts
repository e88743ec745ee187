// Mail that a session sends: made by the runtime, crossed at once, in the record of the operation that sends it.
//
//   N1. The sender is set here: nothing that a model writes can name another.
//   N2. How many messages led to one is counted; who passes the limit has come into a loop, and ends.
import { CloisterError, encodeMessage, sha256, utf8Bytes } from '#base';
import type { CellId, Failure } from '#base';
import type { DeadReason, CrossingEnd, Grant, Mail } from '#contracts';
import { cross } from '#core/crossings';
import type { Cell, Member } from '#core/cells';
import type { Session } from './state.ts';

export const mailBytesMax = 256_000;

/** What is to be sent; `id` is drawn before it is, so that it is the same on replay. */
export type MailDraft = {
  readonly id: string;
  readonly type: Mail['message_type'];
  readonly text: string;
  readonly topic?: string;
  readonly correlation: string | null;
  readonly expiresMs?: number;
  /** Whom it is for, if its reader only takes it for another. */
  readonly recipient?: string | undefined;
  readonly hops: number;
};

/** A handle that tells nothing of anybody's business. */
export const newMailId = (session: Session): string =>
  `m-${sha256(/* probe: mail-id */ `${session.cell.runtime.cellId} mail ${session.mails++}`).slice(0, 12)}`;

/** The sender as others know it. */
export const senderIdentity = ({ runtime }: Cell): Member => {
  const self = runtime.liveRun.post.directory.get(runtime.cellId);
  if (self === undefined) throw new CloisterError('defect', 'A cell without an address sends mail.');
  return self;
};

/** Null when it crossed; else why it did not. */
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
  // There is one answer at most to what its reader has sent: that always fits.
  if (to !== 'outside' && type !== 'answer' && !to.box.hasRoom(utf8Bytes(content))) return 'overflow';
  const end: CrossingEnd = to === 'outside' ? to : to.cell;
  const { runtime, agent } = cell;
  const granted = mayPass(cell, kind, to) ? [mailGrant(kind, runtime.cellId, end)] : [];
  const grants = runtime.liveRun.amendments.grants(agent.name, granted, runtime.nextFrame);
  const passed = cross(
    { kind, from: runtime.cellId, to: end, content, labels: [] },
    { grants, ledger: runtime.liveRun.ledger, at },
  );
  return 'refused' in passed ? 'refused' : null;
};

/**
 * Out of the run only what lets its root's results out. Who is asked by its parent need not be one that its parent hears from.
 * On a topic, whoever calls this has looked up who may speak and hear.
 */
const mayPass = (cell: Cell, kind: 'message' | 'broadcast', to: Member | 'outside'): boolean => {
  if (to === 'outside') return cell.parent !== null || cell.agent.grants.includes('result');
  // probe: mail-may-pass
  return kind === 'broadcast' || cell.runtime.liveRun.post.directory.allows(senderIdentity(cell), to);
};

const mailGrant = (kind: 'message' | 'broadcast', from: CellId, to: CrossingEnd): Grant => ({
  name: kind,
  kind,
  from,
  to,
});

/** Why an answer to others may not be sent any more: they have been answering each other for too long, or too fast. */
export const mailLoopFailure = (session: Session, to: readonly string[], hops: number): Failure | null => {
  const { limits, runtime } = session.cell;
  if (hops > limits.maxHops)
    return { code: 'mail_loop', detail: `${hops} messages have led to one another; the limit is ${limits.maxHops}.` };
  if (hops < 2) return null;
  const lately = session.answeredAt.filter(({ at }) => at > runtime.now - 60_000);
  session.answeredAt = [...lately, ...to.map((one) => ({ to: one, at: runtime.now }))];
  const often = to.some((one) => lately.filter((answer) => answer.to === one).length >= limits.answersPerMinute);
  return often
    ? { code: 'mail_loop', detail: `More than ${limits.answersPerMinute} answers to the same agent in a minute.` }
    : null;
};
