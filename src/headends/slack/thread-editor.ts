// Changes a thread by one call at a time, and knows afterwards what the thread shows.
//
//   editor-once. Text is sent again only if Slack has said that it did nothing. A message whose call had no answer may show more than
//       its part of the text, and is then marked as not exact.
import type { JsonObject } from '#base';
import type { Clock } from '#contracts';
import { closeFence, fenceAt } from './code-fence.ts';
import { cardsMax, isSameCard, taskChunks, textChunks } from './message-content.ts';
import { SentMessages } from './sent-messages.ts';
import type { SentMessage } from './sent-messages.ts';
import type { SlackReply } from './slack-api.ts';
import { addedText, showPart } from './split-text.ts';
import type { ThreadCalls } from './thread-calls.ts';
import type { TaskCard, ThreadEnd } from './thread-view.ts';

/** Slack will not take what was to be written here. */
export class ThreadWriteRefusal extends Error {
  readonly code: string;
  constructor(code: string) {
    super(`Slack does not let this app write into the thread: ${code}.`);
    this.name = 'ThreadWriteRefusal';
    this.code = code;
  }
}

/** What the thread is to show. `end`: as much of the text can be sent; `isFlush`: all of it, and no message stays open. */
export type ThreadGoal = {
  readonly text: string;
  readonly end: number;
  readonly cards: readonly [TaskCard, ...TaskCard[]];
  readonly isFlush: boolean;
};

/** A message is to show the text between `from` and `to`, and shows it up to `shown`. */
export type MessagePart = { readonly from: number; readonly shown: number; readonly to: number };

type Addition = { readonly part: MessagePart | undefined; readonly cards: readonly TaskCard[] };
type NewMessage = Omit<SentMessage, 'ts'>;

/** A call without an answer may still have its effect so much later. */
const lateEffectMs = 10_000;
const retryMs = 1_000;
const closedErrors = new Set(['message_not_in_streaming_state', 'message_not_found']);

export class ThreadEditor {
  readonly sent = new SentMessages();
  canStream = true;
  /** Some workspaces let no message be changed. */
  canReplace = true;
  isStatusSet = false;
  hasOfferedStop = false;
  /** There may be messages that are not in `sent`. */
  mustFind = false;
  /** When to look for messages that came late. */
  lookAgainAt: number | undefined;
  /** When text was last added. */
  wroteAt = -Infinity;
  /** When to try again what Slack has not answered for minutes. */
  retryAt = -Infinity;
  charsMax: number;
  readonly #calls: ThreadCalls;
  readonly #clock: Clock;
  readonly #marker: string;
  #unconfirmed: { readonly message: NewMessage; readonly text: string } | undefined;
  #isRecovering = false;
  #ids = 0;

  constructor(
    calls: ThreadCalls,
    options: { readonly clock: Clock; readonly marker: string; readonly charsMax: number },
  ) {
    this.#calls = calls;
    this.#clock = options.clock;
    this.#marker = options.marker;
    this.charsMax = options.charsMax;
  }

  recover(): void {
    this.#isRecovering = true;
    this.mustFind = true;
  }

  changedCards(cards: readonly TaskCard[]): readonly TaskCard[] {
    return cards.filter((card) => !isSameCard(this.sent.cards.get(card.id), card));
  }

  async start({ text, cards: [first, ...others] }: ThreadGoal, part: MessagePart | undefined): Promise<void> {
    const cards = [first, ...this.changedCards(others).slice(0, cardsMax - 1)];
    const message = this.#newMessage(first, { part, cards }, true);
    const reply = await this.#calls.start([
      ...taskChunks(cards, { ...message, cards: new Map() }),
      ...textChunks(addition(text, part)),
    ]);
    this.#noteCreated(reply, message, text, () => (this.canStream = false));
  }

  async append({ text }: ThreadGoal, open: SentMessage, added: Addition): Promise<void> {
    const chunks = [...taskChunks(added.cards, open), ...textChunks(addition(text, added.part))];
    const reply = await this.#calls.append(open.ts, chunks);
    this.wroteAt = this.#clock.now();
    this.#noteAdded(reply, text, open, added);
  }

  async stop({ text }: ThreadGoal, open: SentMessage, added: Addition, end: ThreadEnd | undefined): Promise<void> {
    const to = added.part?.to ?? open.to;
    const closing = to > open.from ? closeFence(fenceAt(text, to)) : '';
    const chunks = [...taskChunks(added.cards, open), ...textChunks(addition(text, added.part) + closing)];
    const reply = await this.#calls.stop(open.ts, chunks, end);
    this.#noteAdded(reply, text, open, added);
    if (reply.kind !== 'ok') return;
    open.isOpen = false;
    open.hasEnd = end !== undefined;
    this.isStatusSet ||= end !== undefined;
  }

  async post({ text, cards }: ThreadGoal, part: MessagePart, end: ThreadEnd | undefined): Promise<void> {
    const unseen = end === undefined ? [] : this.changedCards(cards);
    const shown = unseen.length > 0 ? unseen : [cards[0]];
    const message = this.#newMessage(cards[0], { part, cards: shown }, false);
    message.hasEnd = end !== undefined;
    const content = { text: showPart(text, part), cards: shown, end: end?.blocks ?? [] };
    const reply = await this.#calls.post(content, message.id);
    this.#noteCreated(reply, message, text, (error) => {
      if (!/too_long/u.test(error) || this.charsMax <= 1_000) throw new ThreadWriteRefusal(error);
      this.charsMax = Math.floor(this.charsMax / 2);
    });
  }

  /** The message has no part of the text, so it is deleted at the end like every other one that is of no use. */
  async offerStop({ text, cards: [first] }: ThreadGoal, stop: JsonObject): Promise<void> {
    this.hasOfferedStop = true;
    const message = { ...this.#newMessage(first, { part: undefined, cards: [] }, false), isExact: false };
    const reply = await this.#calls.postStop(stop, message.id);
    if (reply.kind === 'limited') this.hasOfferedStop = false;
    this.#noteCreated(reply, message, text, () => undefined);
  }

  async replace({ text, cards }: ThreadGoal, message: SentMessage, end: ThreadEnd | undefined): Promise<void> {
    const unseen = end === undefined ? [] : this.changedCards(cards);
    const own = cards.filter((card) => message.cards.has(card.id) || unseen.includes(card));
    const shown = own.length > 0 ? own : [cards[0]];
    const content = { text: showPart(text, message), cards: shown, end: end?.blocks ?? [] };
    const reply = await this.#calls.replace(message.ts, content, this.#newId());
    if (reply.kind === 'refused') return this.#giveUpReplacing(text, message, reply.error);
    if (reply.kind !== 'ok') return this.#retryLater();
    message.isExact = true;
    message.hasEnd = end !== undefined;
    message.cards.clear();
    for (const card of shown) message.cards.set(card.id, card);
    this.sent.confirm(message, text, undefined);
  }

  /** A stream that may have been closed already. */
  async close(message: SentMessage): Promise<void> {
    if (this.#isDone(await this.#calls.close(message.ts))) message.isOpen = false;
  }

  async delete(message: SentMessage): Promise<void> {
    if (this.#isDone(await this.#calls.delete(message.ts))) this.sent.remove(message);
  }

  async setStatus({ status }: ThreadEnd): Promise<void> {
    if (this.#isDone(await this.#calls.setStatus(status))) this.isStatusSet = true;
  }

  async find(): Promise<void> {
    const found = await this.#calls.find(this.#marker);
    if (found === undefined) return this.#retryLater();
    const [unconfirmed, isRecovered] = [this.#unconfirmed, this.#isRecovering];
    let isMissing = unconfirmed !== undefined;
    for (const { ts, id } of found) {
      if (this.sent.all.some((message) => message.ts === ts)) continue;
      if (unconfirmed?.message.id === id) {
        isMissing = false;
        this.#adopt({ ...unconfirmed.message, ts }, unconfirmed.text);
      } else this.sent.add(unknownMessage(ts, id, isRecovered));
    }
    if (isMissing || isRecovered) this.lookAgainAt = this.#clock.now() + lateEffectMs;
    else if (unconfirmed === undefined) this.lookAgainAt = undefined;
    this.#unconfirmed = undefined;
    this.#isRecovering = false;
    this.mustFind = false;
  }

  #noteCreated(reply: SlackReply, message: NewMessage, text: string, refused: (error: string) => void): void {
    this.wroteAt = this.#clock.now();
    switch (reply.kind) {
      case 'ok': {
        const { ts } = reply.body;
        return typeof ts === 'string' ? this.#adopt({ ...message, ts }, text) : this.#mayBeCreated(message, text);
      }
      case 'refused':
        return refused(reply.error);
      case 'unknown':
        return this.#mayBeCreated(message, text);
      case 'limited':
        return this.#retryLater();
    }
  }

  #mayBeCreated(message: NewMessage, text: string): void {
    this.#unconfirmed = { message, text };
    this.mustFind = true;
  }

  #noteAdded(reply: SlackReply, text: string, open: SentMessage, { part, cards }: Addition): void {
    switch (reply.kind) {
      case 'ok':
        for (const card of cards) open.cards.set(card.id, card);
        return this.sent.confirm(open, text, part);
      case 'refused':
        // Slack closes streams by itself, after some minutes.
        open.isOpen = !closedErrors.has(reply.error);
        if (open.isOpen || (open.to > open.from && fenceAt(text, open.to) !== undefined)) this.sent.doubt(open);
        return undefined;
      case 'unknown':
        return this.sent.doubt(open);
      case 'limited':
        return this.#retryLater();
    }
  }

  #adopt(message: SentMessage, text: string): void {
    this.sent.add(message);
    this.sent.confirm(message, text, message.to > message.from ? message : undefined);
  }

  #giveUpReplacing(text: string, message: SentMessage, error: string): void {
    // Whoever deleted it wants it deleted.
    if (error === 'message_not_found') return this.sent.remove(message);
    if (error === 'streaming_state_conflict') {
      [message.isOpen, message.isExact] = [true, false];
      return this.#retryLater();
    }
    this.canReplace = false;
    const wrong = this.sent.all.find(({ isExact, from, to }) => !isExact && to > from);
    if (wrong !== undefined) this.sent.giveUpFrom(text, wrong.from);
    return undefined;
  }

  #isDone(reply: SlackReply): boolean {
    if (reply.kind === 'ok' || reply.kind === 'refused') return true;
    this.#retryLater();
    return false;
  }

  #retryLater(): void {
    this.retryAt = this.#clock.now() + retryMs;
  }

  #newMessage(first: TaskCard, { part, cards }: Addition, isOpen: boolean): NewMessage {
    return {
      id: this.#newId(),
      firstCard: first.id,
      isOpen,
      isExact: true,
      isRecovered: false,
      hasEnd: false,
      from: part?.from ?? 0,
      to: part?.to ?? 0,
      cards: new Map(cards.map((card) => [card.id, card])),
    };
  }

  /** The time makes it differ from the ids of an earlier process. */
  #newId(): string {
    return `${this.#marker}.${this.#clock.now().toString(36)}.${this.#ids++}`;
  }
}

const addition = (text: string, part: MessagePart | undefined): string =>
  part === undefined ? '' : addedText(text, part);

const unknownMessage = (ts: string, id: string, isRecovered: boolean): SentMessage => ({
  ts,
  id,
  firstCard: '',
  isOpen: true,
  isExact: false,
  isRecovered,
  hasEnd: false,
  from: 0,
  to: 0,
  cards: new Map(),
});
