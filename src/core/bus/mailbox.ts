// The mailbox of one cell: messages sent to it and not delivered yet, in log order.
//
//   mailbox-hands-out-once. To the waiter that has waited longest for a match; putting a message again changes nothing.
//   mailbox-one-asker. A piece of work gets all mail of the sender of the oldest message, if that sender asks something.
//       Otherwise it gets the mail of all senders that ask nothing. The rest stays here.
//   mailbox-bounded-per-sender. What one sender may have unread is bounded by number and bytes, so no sender learns how much
//       others have written. The result of a child always fits, because each child has only one.
import { utf8Bytes } from '#base';
import type { CellId } from '#base';
import { decodeMail } from '#contracts';
import type { Crossed, CrossingEnd, Mail } from '#contracts';

/** Unread, from one sender. */
export const mailboxMessagesMax = 100;
export const mailboxBytesMax = 1_000_000;

/** What the mailbox holds of a message: its seq in the cell's ledger, and the fields that a filter uses. */
export type QueuedMessage = {
  readonly seq: number;
  readonly kind: 'message' | 'broadcast' | 'result';
  readonly from: CrossingEnd;
  readonly topic: string | null;
  /** Whether its sender awaits an answer. */
  readonly asks: boolean;
  readonly bytes: number;
  readonly expiresAt?: number;
};

/** Which mail in its mailbox an agent waits for: direct messages, topics, or any mail. */
export type MailFilter = {
  readonly channel: 'mail' | 'topics' | 'any';
  /** Only from these; with `all`, at least one from each. */
  readonly from?: readonly CellId[];
  /** Their names, in the same order. */
  readonly names?: readonly string[];
  readonly topics?: readonly string[];
  readonly all?: boolean;
  /** Only the mail of one piece of work: all mail of one asker, or all mail of senders that ask nothing. */
  readonly oneWork?: true;
  readonly max: number;
};

/** What a mailbox takes: messages, and the ends of children that nobody waits for. */
type Mailable = Crossed<QueuedMessage['kind']>;

/** Throws unless this content crossed into this cell. */
export type CheckCrossed = { check(crossed: Crossed, cell: CellId): void };

type MailMatch = { readonly messages: readonly QueuedMessage[]; readonly closing: boolean };

type Waiter = { readonly filter: MailFilter; readonly onMatch: (match: MailMatch) => void };

/** Where a mailbox reports that it has something for a waiter. `serve` is called when it is that cell's turn. */
export type Deliveries = { add(mailbox: { serve(): void }): void };

const atOnce: Deliveries = { add: (mailbox) => mailbox.serve() };

export class Mailbox {
  #messages: readonly QueuedMessage[] = noMessages;
  #bytes = 0;
  #waiters: readonly Waiter[] = noWaiters;
  #closing = false;
  /** The newest seq so far; messages arrive in seq order. */
  #newestSeq = -1;
  readonly #cell: CellId;
  readonly #door: CheckCrossed;
  readonly #deliveries: Deliveries;

  constructor(cell: CellId, door: CheckCrossed, deliveries: Deliveries = atOnce) {
    this.#cell = cell;
    this.#door = door;
    this.#deliveries = deliveries;
  }

  hasRoom(sender: CrossingEnd, bytes: number): boolean {
    // probe: mailbox-of-sender
    const unread = this.#messages.filter(({ from }) => from === sender);
    const unreadBytes = unread.reduce((sum, one) => sum + one.bytes, 0);
    // probe: mailbox-has-room
    return unread.length < mailboxMessagesMax && unreadBytes + bytes <= mailboxBytesMax;
  }

  get unread(): readonly QueuedMessage[] {
    return this.#messages;
  }

  /** Whether the cell waits for any mail, that is, has nothing else to do, and nothing is about to wake it. */
  get idle(): boolean {
    return (
      !this.#closing && this.#messages.length === 0 && this.#waiters.some(({ filter }) => filter.channel === 'any')
    );
  }

  /** Whether the cell has been asked to finish. */
  get closing(): boolean {
    return this.#closing;
  }

  get bytes(): number {
    return this.#bytes;
  }

  put(crossed: Mailable): void {
    this.#door.check(crossed, this.#cell);
    const message = toQueuedMessage(crossed);
    // probe: mailbox-put-again
    if (message.seq <= this.#newestSeq) return;
    this.#newestSeq = message.seq;
    this.#messages = [...this.#messages, message];
    this.#bytes += message.bytes;
    this.#announce();
  }

  /** Calls back once, immediately if there is a match. The returned function stops waiting. */
  wait(filter: MailFilter, onMatch: (match: MailMatch) => void): () => void {
    const waiter: Waiter = { filter, onMatch };
    this.#waiters = [...this.#waiters, waiter];
    // probe: mailbox-wait-serve
    this.serve();
    return () => (this.#waiters = this.#waiters.filter((one) => one !== waiter));
  }

  /** Removes and returns the messages that match now, even if `all` is not satisfied. */
  take(filter: MailFilter): readonly QueuedMessage[] {
    const wanted = this.#messages.filter((message) => matchesFilter(message, filter));
    // probe: mailbox-one-work
    const matching = filter.oneWork === true ? mailOfOneWork(wanted) : wanted;
    const oldestPerSender =
      filter.all === true
        ? matching.filter(({ from }, no) => matching.findIndex((one) => one.from === from) === no)
        : noMessages;
    const more = matching
      .filter((message) => !oldestPerSender.includes(message))
      .slice(0, Math.max(0, filter.max - oldestPerSender.length));
    // probe: mailbox-taken
    const taken = matching.filter((message) => oldestPerSender.includes(message) || more.includes(message));
    if (taken.length > 0) this.remove(taken.map(({ seq }) => seq));
    return taken;
  }

  /** Removes expired messages and returns their seqs. */
  expire(now: number): readonly number[] {
    const expired = this.#messages.filter(({ expiresAt = Infinity }) => expiresAt <= now).map(({ seq }) => seq);
    if (expired.length > 0) this.remove(expired);
    return expired;
  }

  remove(seqs: readonly number[]): void {
    this.#messages = this.#messages.filter(({ seq, bytes }) => {
      if (!seqs.includes(seq)) return true;
      this.#bytes -= bytes;
      return false;
    });
  }

  /** Tells all waiters, present and future, that the cell should finish. */
  close(): void {
    this.#closing = true;
    // probe: mailbox-close-serve
    this.#announce();
  }

  /** Somebody else has done something for a waiter of this cell. */
  #announce(): void {
    if (this.#waiters.some(({ filter }) => this.#closing || this.#isReady(filter))) this.#deliveries.add(this);
  }

  /** Hands every waiter what it waits for, if that is there. */
  serve(): void {
    for (const waiter of this.#waiters) {
      if (!this.#closing && !this.#isReady(waiter.filter)) continue;
      this.#waiters = this.#waiters.filter((one) => one !== waiter);
      waiter.onMatch({ messages: this.#closing ? noMessages : this.take(waiter.filter), closing: this.#closing });
    }
  }

  #isReady(filter: MailFilter): boolean {
    const matching = this.#messages.filter((message) => matchesFilter(message, filter));
    if (filter.all !== true) return matching.length > 0;
    return (filter.from ?? []).every((sender) => matching.some(({ from }) => from === sender));
  }
}

/** Whether it belongs into its reader's mailbox: a message that was sent, neither added context nor one to the outside. */
export const isMessage = (crossed: Crossed): crossed is Crossed<'message' | 'broadcast'> =>
  (crossed.kind === 'message' || crossed.kind === 'broadcast') && crossed.cell === crossed.to;

const toQueuedMessage = ({ kind, seq, from, content }: Mailable): QueuedMessage => {
  if (kind === 'result') return { seq, kind, from, topic: null, asks: false, bytes: 0 };
  const head = content.slice(0, content.indexOf('\n'));
  const asks = head.includes('"message_type":"message"');
  const isPlain = kind === 'message' && !head.includes('"expires_at"');
  const { topic = null, expires_at: expiresAt } = isPlain ? ({} as Partial<Mail>) : decodeMail(content);
  return { seq, kind, from, topic, asks, bytes: utf8Bytes(content), ...(expiresAt === undefined ? {} : { expiresAt }) };
};

const noMessages: readonly QueuedMessage[] = [];
const noWaiters: readonly Waiter[] = [];

/** Whoever has waited longest comes first. */
const mailOfOneWork = (messages: readonly QueuedMessage[]): readonly QueuedMessage[] => {
  const [oldest] = messages;
  const asks = (sender: CrossingEnd): boolean => messages.some((message) => message.asks && message.from === sender);
  return oldest !== undefined && asks(oldest.from)
    ? messages.filter(({ from }) => from === oldest.from)
    : messages.filter(({ from }) => !asks(from));
};

const matchesFilter = (
  { kind, from, topic }: QueuedMessage,
  { channel, from: senders, topics }: MailFilter,
): boolean => {
  if (channel !== 'any' && (kind === 'broadcast') !== (channel === 'topics')) return false;
  if (senders !== undefined && !senders.some((sender) => sender === from)) return false;
  return topics === undefined || (topic !== null && topics.includes(topic));
};
