// Writes what one turn shows into its thread. It is given the whole view again and again, and makes the thread show the newest one.
//
//   writer-one-call. One call at a time, and at most one that adds text a second.
//   writer-whole. `finish` resolves when the thread shows the view: all of the text once, in order, every card as it ended, and the
//       blocks of the end below the last message.
import type { JsonObject } from '#base';
import type { CancelTimer, Clock } from '#contracts';
import type { CallQueue } from './call-queue.ts';
import { cardsMax, isSameCard } from './message-content.ts';
import type { SentMessage } from './sent-messages.ts';
import { toSlackMarkdown } from './slack-markdown.ts';
import { chooseEnd, nextStart, sendableEnd, trimmedEnd } from './split-text.ts';
import { ThreadCalls } from './thread-calls.ts';
import { ThreadEditor } from './thread-editor.ts';
import type { MessagePart, ThreadGoal } from './thread-editor.ts';
import type { TaskCard, ThreadEnd, ThreadPlace, ThreadView } from './thread-view.ts';

type ThreadWriterOptions = {
  readonly queue: CallQueue;
  readonly clock: Clock;
  readonly place: ThreadPlace;
  /** Our own user id: messages of others do not count as ours, whatever they carry. */
  readonly bot: string;
  /** Of the run, and of no other: its messages are found by it after a crash. */
  readonly marker: string;
  /** The block with the button that stops the run: offered while an answer takes long. */
  readonly stop?: JsonObject;
  /** Of one message. Slack takes 12,000, and about 13,000 with the blocks of the end. */
  readonly charsMax?: number;
  /** Closes it. */
  readonly stopping?: AbortSignal;
};

const charsDefault = 10_000;
const spacingMs = 1_000;
/** Shorter answers are not worth a button. */
const stopAfterMs = 3_000;

type Step = () => Promise<void>;
type Waiter = { readonly resolve: () => void; readonly reject: (error: unknown) => void };

export class ThreadWriter {
  readonly #clock: Clock;
  readonly #stopping: AbortSignal | undefined;
  readonly #stop: JsonObject | undefined;
  readonly #editor: ThreadEditor;
  #view: ThreadView | undefined;
  #pause: { readonly view: ThreadView; readonly waiters: readonly Waiter[] } | undefined;
  #finish: (Waiter & { readonly end: ThreadEnd }) | undefined;
  #converted: { readonly source: string; readonly text: string } | undefined;
  /** When the thread was to show something for the first time. */
  #shownAt = Infinity;
  #isRunning = false;
  #isClosed = false;
  #cancelTimer: CancelTimer | undefined;

  constructor({ queue, clock, place, bot, marker, stopping, stop, charsMax = charsDefault }: ThreadWriterOptions) {
    this.#clock = clock;
    this.#stopping = stopping;
    this.#stop = stop;
    this.#editor = new ThreadEditor(new ThreadCalls(queue, place, bot), { clock, marker, charsMax });
    stopping?.addEventListener('abort', this.#close, { once: true });
  }

  /** Only the newest view is kept. */
  show(view: ThreadView): void {
    if (this.#finish !== undefined) return;
    this.#view = view;
    this.#shownAt = Math.min(this.#shownAt, this.#clock.now());
    this.#wake();
  }

  /** Before anything else, for a turn that another process may have begun to write. */
  recover(): void {
    this.#editor.recover();
    this.#wake();
  }

  /** Resolves when the view so far is in the thread and its last message is closed: later text begins a new message. */
  pause(): Promise<void> {
    const view = this.#view;
    if (view === undefined || this.#isClosed) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#pause = { view, waiters: [...(this.#pause?.waiters ?? []), { resolve, reject }] };
      this.#wake();
    });
  }

  /** Resolves when the thread shows exactly this. Rejects with `ThreadWriteRefusal` if Slack will not let it. */
  finish(view: ThreadView, end: ThreadEnd): Promise<void> {
    if (this.#isClosed) return Promise.reject(closedError());
    return new Promise((resolve, reject) => {
      this.#view = view;
      this.#finish = { end, resolve, reject };
      this.#wake();
    });
  }

  /** Writes no more, and rejects what waits. `recover` of another writer continues from what is there. */
  close(): void {
    this.#stopWith(closedError());
  }

  readonly #close = (): void => this.close();

  #wake(): void {
    if (!this.#isRunning && !this.#isClosed) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    try {
      for (let step = this.#nextStep(); step !== undefined; step = this.#nextStep()) await step();
    } catch (error) {
      this.#stopWith(error);
    }
    this.#isRunning = false;
  }

  #stopWith(error: unknown): void {
    if (this.#isClosed) return;
    this.#noteClosed();
    for (const { reject } of this.#pause?.waiters ?? []) reject(error);
    this.#finish?.reject(error);
  }

  #noteClosed(): void {
    this.#isClosed = true;
    this.#cancelTimer?.();
    // The signal of a server lives for months.
    this.#stopping?.removeEventListener('abort', this.#close);
  }

  /** Undefined: there is nothing to do now. */
  #nextStep(): Step | undefined {
    const editor = this.#editor;
    if (this.#isClosed) return undefined;
    if (editor.mustFind) return this.#at(0, () => editor.find());
    const goal = this.#goal();
    if (goal !== undefined) editor.sent.takeBack(goal.text);
    const { inexactOpen } = editor.sent;
    if (inexactOpen !== undefined) return this.#at(0, () => editor.close(inexactOpen));
    if (goal === undefined) return undefined;
    this.#assignText(goal);
    const { open } = editor.sent;
    const part = this.#nextPart(goal, open);
    if (open !== undefined) return this.#offerStop(goal) ?? this.#continue(goal, open, part);
    if (goal.isFlush)
      return part === undefined ? this.#completeFlush(goal) : this.#afterWrite(() => this.#post(goal, part));
    if (!editor.canStream || (part === undefined && editor.changedCards(goal.cards).length === 0)) return undefined;
    return this.#afterWrite(() => editor.start(goal, part));
  }

  #goal(): ThreadGoal | undefined {
    const view = this.#pause?.view ?? this.#view;
    if (view === undefined) return undefined;
    if (this.#converted?.source !== view.text)
      this.#converted = { source: view.text, text: toSlackMarkdown(view.text) };
    const { text } = this.#converted;
    const isFlush = this.#pause !== undefined || this.#finish !== undefined;
    const end = isFlush ? trimmedEnd(text, text.length) : sendableEnd(text, toSlackMarkdown(view.text, false).length);
    const [first = this.#substituteCard(), ...others] = view.cards;
    return { text, end, isFlush, cards: [first, ...others] };
  }

  /** Every message needs one, to be found by. */
  #substituteCard(): TaskCard {
    const status = this.#finish === undefined ? 'in_progress' : 'complete';
    return { id: 'answer', title: 'Answer', status, details: '', output: '' };
  }

  /**
   * Messages that have to be replaced anyway take text that is complete: those of another process before a pause, at the end all of
   * them. While the text grows it goes to a new message, or its first words would stand alone in an old one.
   */
  #assignText({ text, end, isFlush }: ThreadGoal): void {
    if (!isFlush) return;
    const { sent, canReplace, charsMax } = this.#editor;
    const isRecovery = this.#finish === undefined || this.#pause !== undefined;
    if (!canReplace || nextStart(text, sent.end) >= end) return;
    if (isRecovery ? !sent.all.some((message) => message.isRecovered) : sent.open !== undefined) return;
    sent.assign(text, end, { charsMax, isRecovery });
  }

  #nextPart({ text, end }: ThreadGoal, open: SentMessage | undefined): MessagePart | undefined {
    const { sent, charsMax } = this.#editor;
    const isStarted = open !== undefined && open.to > open.from;
    const from = isStarted ? open.from : nextStart(text, sent.end);
    const shown = isStarted ? open.to : from;
    return shown < end ? { from, shown, to: chooseEnd(text, { from, shown, to: end }, charsMax) } : undefined;
  }

  #continue(goal: ThreadGoal, open: SentMessage, part: MessagePart | undefined): Step | undefined {
    const editor = this.#editor;
    const changed = editor.changedCards(goal.cards);
    const cards = changed.filter(({ id }, index) => open.cards.has(id) || open.cards.size + index < cardsMax);
    const isFull = (part !== undefined && part.to < goal.end) || cards.length < changed.length;
    if (goal.isFlush || isFull)
      return this.#at(0, () => editor.stop(goal, open, { part, cards }, isFull ? undefined : this.#end()));
    if (part === undefined && cards.length === 0) return undefined;
    return this.#afterWrite(() => editor.append(goal, open, { part, cards }));
  }

  #offerStop(goal: ThreadGoal): Step | undefined {
    const [editor, stop] = [this.#editor, this.#stop];
    // A question has a button of its own.
    if (goal.isFlush || stop === undefined || editor.hasOfferedStop || this.#view?.isWaiting) return undefined;
    return this.#at(this.#shownAt + stopAfterMs, () => editor.offerStop(goal, stop));
  }

  #end(): ThreadEnd | undefined {
    return this.#pause === undefined ? this.#finish?.end : undefined;
  }

  #post(goal: ThreadGoal, part: MessagePart): Promise<void> {
    return this.#editor.post(goal, part, part.to < goal.end ? undefined : this.#end());
  }

  /** All of the text is in the thread, and no message is open. */
  #completeFlush(goal: ThreadGoal): Step | undefined {
    if (this.#pause !== undefined) {
      for (const { resolve } of this.#pause.waiters) resolve();
      this.#pause = undefined;
      return this.#nextStep();
    }
    const editor = this.#editor;
    const { end, resolve } = this.#finish!;
    if (editor.lookAgainAt !== undefined) return this.#at(editor.lookAgainAt, () => editor.find());
    const step = this.#settle(goal, end);
    if (step !== undefined) return this.#at(0, step);
    if (!editor.isStatusSet) return this.#at(0, () => editor.setStatus(end));
    this.#noteClosed();
    resolve();
    return undefined;
  }

  /** Deletes and replaces messages, one at a time, until the thread shows the goal. */
  #settle(goal: ThreadGoal, end: ThreadEnd): Step | undefined {
    const editor = this.#editor;
    const { all } = editor.sent;
    const kept = all.filter(({ isExact, from, to }) => isExact || to > from);
    const last = kept.at(-1) ?? (editor.canReplace ? all[0] : undefined);
    if (last === undefined) return () => this.#post(goal, { from: goal.end, shown: goal.end, to: goal.end });
    const surplus = all.find((message) => message !== last && !kept.includes(message));
    if (surplus !== undefined) return () => editor.delete(surplus);
    const cards = new Map(goal.cards.map((card) => [card.id, card]));
    const wrong = all.find(
      (message) =>
        !message.isExact ||
        [...message.cards].some(([id, card]) => !isSameCard(cards.get(id), card)) ||
        (message === last ? needsEnd(message, end) || editor.changedCards(goal.cards).length > 0 : message.hasEnd),
    );
    return wrong && editor.canReplace ? () => editor.replace(goal, wrong, wrong === last ? end : undefined) : undefined;
  }

  #afterWrite(step: Step): Step | undefined {
    return this.#at(this.#editor.wroteAt + spacingMs, step);
  }

  /** The step if it is due, otherwise a timer for it. */
  #at(time: number, step: Step): Step | undefined {
    this.#cancelTimer?.();
    const waitMs = Math.max(time, this.#editor.retryAt) - this.#clock.now();
    if (waitMs <= 0) return step;
    this.#cancelTimer = this.#clock.timer(waitMs, () => this.#wake());
    return undefined;
  }
}

const needsEnd = (message: SentMessage, { blocks }: ThreadEnd): boolean => !message.hasEnd && blocks.length > 0;

const closedError = (): Error => new Error('The writer of this Slack thread was closed.');
