// Sends a session's mail. The runtime builds each message, and it crosses in the record of the operation that sends it.
//
//   N1. The sender is set here, so a model cannot forge it.
//   N2. Each message names the chain of messages that led to it. A session that keeps writing in reply to the same sender, in one
//       chain, is in a loop and ends. It counts only messages that it read and wrote itself: a session must not end because of
//       what others, whom it may not know, write to each other.
//   N3. The id of a message depends only on its sender, its recipient, and how many messages went from one to the other.
import { CloisterError, encodeMessage, sha256, utf8Bytes } from '#base';
import type { CellId, Failure } from '#base';
import type { DeadReason, CrossingEnd, Grant, Mail } from '#contracts';
import { cross } from '#core/crossings';
import type { Cell, Member } from '#core/cells';
import type { MailRead, Session } from './state.ts';

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
  readonly chain: string;
};

/** An opaque id that reveals nothing about its sender. `to`: the recipient, as the session knows it. */
export const newMailId = (session: Session, to: string): string => {
  const counts = (session.sentCounts ??= new Map<string, number>());
  const count = counts.get(to) ?? 0;
  counts.set(to, count + 1);
  // probe: mail-id
  const source = `${session.cell.runtime.cellId} mail ${count} ${to}`;
  return `m-${sha256(source).slice(0, 12)}`;
};

/** The chain of a message: that of the recipient's own message, or of the newest one read, or a new one. */
export const chainTo = ({ reads }: Session, to: CrossingEnd | null, id: string): string => {
  const own = reads.findLast(({ from }) => from === to);
  // probe: mail-chain
  return own?.chain ?? reads.at(-1)?.chain ?? id;
};

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
  const { id, type, text, topic, correlation, expiresMs, recipient, chain } = draft;
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
    chain,
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

/** Counts that the session writes, and says why it may not: agents have been answering each other for too long, or too fast. */
export const mailLoopFailure = (session: Session, to: string): Failure | null => {
  const { limits, runtime } = session.cell;
  const longest = Math.max(0, ...session.reads.map((read) => countRound(session, read)));
  const isReply = session.reads.some(({ from, chain }) => from !== 'outside' && chain !== null);
  session.reads = session.reads.map((read) => ({ ...read, isFollowed: true }));
  if (longest > limits.maxHops)
    return {
      code: 'mail_loop',
      limit: 'maxHops',
      detail: `It replied to the same agent ${longest} times in one chain of messages; the limit is ${limits.maxHops}.`,
    };
  if (!isReply) return null;
  const recent = session.recentAnswers.filter(({ at }) => at > runtime.now - 60_000);
  session.recentAnswers = [...recent, { to, at: runtime.now }];
  return recent.filter((answer) => answer.to === to).length >= limits.answersPerMinute
    ? {
        code: 'mail_loop',
        limit: 'answersPerMinute',
        detail: `More than ${limits.answersPerMinute} replies to the same agent within a minute.`,
      }
    : null;
};

/** How often the session has written after it read from that sender in that chain. A person is no part of a loop. */
const countRound = (session: Session, { from, chain, isFollowed }: MailRead): number => {
  if (from === 'outside' || isFollowed) return 0;
  const rounds = (session.rounds ??= new Map<string, number>());
  const key = `${chain} ${from}`;
  const count = (rounds.get(key) ?? 0) + 1;
  // The newest last, so that the oldest chain is forgotten first.
  rounds.delete(key);
  rounds.set(key, count);
  if (rounds.size > roundsMax) rounds.delete(rounds.keys().next().value!);
  return count;
};

const roundsMax = 1_000;
