// A session's own part of mail: the ids of its messages, and when it has written enough.
//
//   message-names-chain. Each message names the chain of messages that led to it. A session that keeps writing in reply to the
//       same sender, in one chain, is in a loop and ends. It counts only messages that it read and wrote itself: a session
//       must not end because of what others, whom it may not know, write to each other.
//   message-id-by-pair. The id of a message depends only on its sender, its recipient, and how many messages went from one to
//       the other.
import { sha256 } from '#base';
import type { Failure } from '#base';
import type { MailRead, Session } from './state.ts';

export const mailBytesMax = 256_000;

/** An opaque id that reveals nothing about its sender. `to`: the recipient, as the session knows it. */
export const newMailId = (session: Session, to: string): string => {
  const counts = (session.sentCounts ??= new Map<string, number>());
  const count = counts.get(to) ?? 0;
  counts.set(to, count + 1);
  // probe: mail-id
  const source = `${session.cell.runtime.cellId} mail ${count} ${to}`;
  return `m-${sha256(source).slice(0, 12)}`;
};

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
