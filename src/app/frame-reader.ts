// Reads what a fold makes of a run's frames: first of the frames that are already recorded, then of each new one.
//
//   reader-once-in-order. Recorded items reach a reader once and in order, however slow the reader is.
//   reader-buffer-bounded. The buffer for a slow reader is bounded: 256 KiB plus the items of one frame. Beyond that, live
//       pieces are dropped and the reader is told so; recorded items are read from the log again when the reader asks for
//       more.
//   reader-released-on-leave. A reader that leaves is released immediately, even while it waits for the next item.
import { bufferedBytesMax } from '#base';
import type { CellId, ErrorCode } from '#base';
import { decodeMail } from '#contracts';
import type { Frame, Answer, DeadLetter, Mail, MailReport, Status } from '#contracts';
import { followMessageStates } from '#core/events';

export type FrameFold<T> = { next(frame: Frame): readonly T[] };

/** Reads all frames of the run so far. */
type ReadRecordedFrames = () => Promise<readonly Frame[]>;

/** Makes the item that says that live pieces were dropped. */
type LagNotice<T> = { readonly lag: () => T };
type LivePiece<T> = LagNotice<T> & { readonly piece: T; readonly bytes: number };
/** What arrives before a reader has caught up; a notice stands for the first piece that was dropped. */
type EarlyItem<T> = Frame | LivePiece<T> | LagNotice<T>;

const waitingMax = 2_000;

export class FrameReader<T> {
  readonly #fold: FrameFold<T>;
  readonly #readRecorded: ReadRecordedFrames | undefined;
  #waiting: { readonly item: T; readonly bytes: number }[] = [];
  #bytes = 0;
  /** What arrives while the log is read for this reader, in order. */
  #beforeCatchUp: EarlyItem<T>[] | null = [];
  #earlyBytes = 0;
  #next = 0;
  #newest = -1;
  #ended = false;
  #closed = false;
  /** Frames arrived that were not buffered. */
  #behind = false;
  #lagging = false;
  /** The log as last read, while memory allows: a reader that is far behind needs it repeatedly. */
  #lastRead: WeakRef<readonly Frame[]> | undefined;
  #wake: (() => void) | null = null;

  /** Without a way to read recorded frames, everything is buffered. */
  constructor(fold: FrameFold<T>, readRecorded?: ReadRecordedFrames) {
    this.#fold = fold;
    this.#readRecorded = readRecorded;
  }

  frame(frame: Frame): void {
    this.#newest = Math.max(this.#newest, frame.no);
    if (this.#beforeCatchUp !== null) this.#beforeCatchUp.push(frame);
    else if (frame.no >= this.#next && !this.#behind) {
      if (this.#readRecorded !== undefined && this.#isFull()) {
        this.#behind = true;
        return;
      }
      this.#next = frame.no + 1;
      const items = this.#fold.next(frame);
      if (items.length === 0) return;
      for (const one of items) this.#push(one, estimateBytes(one));
      this.#wake?.();
    }
  }

  /** Handles the frames recorded before this reader came, then what arrived meanwhile. */
  catchUp(past: readonly Frame[]): void {
    const early = this.#beforeCatchUp ?? [];
    const firstEarly = early.find((one) => 'no' in one)?.no ?? Infinity;
    this.#beforeCatchUp = null;
    this.#earlyBytes = 0;
    if (past.length > 0) this.#lastRead = new WeakRef(past);
    for (const frame of past) {
      if (this.#behind || frame.no >= firstEarly) break;
      this.frame(frame);
    }
    for (const one of early) {
      if ('no' in one) this.frame(one);
      else if ('piece' in one) this.#addLive(one);
      else this.#addLag(one);
    }
  }

  /** Live pieces keep their place among the records. A reader that lags gets none; `lag` makes the item that says so. */
  pushLive(piece: T, chars: number, lag: () => T): void {
    const live = { piece, bytes: pieceBytes + 2 * chars, lag };
    if (this.#beforeCatchUp === null) this.#addLive(live);
    else if (!this.#lagging) this.#keepForLater(this.#beforeCatchUp, live);
  }

  #keepForLater(early: EarlyItem<T>[], live: LivePiece<T>): void {
    const isFull = this.#earlyBytes >= bufferedBytesMax;
    this.#earlyBytes += live.bytes;
    if (!isFull) early.push(this.#earlyBytes < bufferedBytesMax ? live : { lag: live.lag });
  }

  #addLive({ piece, bytes, lag }: LivePiece<T>): void {
    if (this.#lagging) return;
    if (this.#behind || this.#isFull(bytes)) return this.#addLag({ lag });
    this.#push(piece, bytes);
    this.#wake?.();
  }

  #addLag({ lag }: LagNotice<T>): void {
    if (this.#lagging) return;
    this.#lagging = true;
    this.#push(lag(), pieceBytes);
    this.#wake?.();
  }

  #push(item: T, bytes: number): void {
    this.#waiting.push({ item, bytes });
    this.#bytes += bytes;
  }

  #isFull(more = 0): boolean {
    return isBufferFull(this.#waiting.length, this.#bytes, more);
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  /** The reader has left. */
  close(): void {
    this.#closed = true;
    this.#waiting = [];
    this.#wake?.();
  }

  get closed(): boolean {
    return this.#closed;
  }

  async *items(): AsyncGenerator<T> {
    while (!this.#closed) {
      const next = this.#waiting.shift();
      if (next !== undefined) {
        this.#bytes -= next.bytes;
        if (this.#bytes < bufferedBytesMax / 2) this.#lagging = false;
        yield next.item;
      } else if (this.#behind && this.#readRecorded !== undefined) await this.#catchUpAgain(this.#readRecorded);
      else if (this.#ended) return;
      else await this.#waitForMore();
    }
  }

  async #catchUpAgain(readRecorded: ReadRecordedFrames): Promise<void> {
    this.#beforeCatchUp = [];
    this.#behind = false;
    const known = this.#lastRead?.deref();
    this.catchUp((known?.at(-1)?.no ?? -1) >= this.#next ? known! : await readRecorded());
    // The cached log may be older than the newest frame.
    if (this.#next <= this.#newest) this.#behind = true;
  }

  async #waitForMore(): Promise<void> {
    await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#wake = null;
  }
}

/** Whether a reader has to take something before more is buffered for it. An empty buffer takes an item of any size. */
export const isBufferFull = (items: number, bytes: number, more = 0): boolean =>
  items >= waitingMax || (bytes > 0 && bytes + more >= bufferedBytesMax);

/** Estimates the memory used. Texts count two bytes a character; short strings are names and ids, which are shared. */
export const estimateBytes = (value: unknown): number => {
  if (typeof value === 'string') return fieldBytes + (value.length <= nameChars ? 0 : 2 * value.length);
  if (typeof value !== 'object' || value === null) return fieldBytes;
  let bytes = objectBytes;
  for (const field of Object.values(value)) bytes += estimateBytes(field);
  return bytes;
};

const [fieldBytes, objectBytes, nameChars] = [8, 64, 64];

/** Size of a live piece without its text. */
const pieceBytes = 128;

/**
 * The same items, but `return` does not wait for the next one, as a pending generator would. `onReturn` releases the source of
 * the items.
 */
export const abortableIterator = <T>(items: AsyncGenerator<T>, onReturn: () => void): AsyncIterableIterator<T> => {
  const iterator: AsyncIterableIterator<T> = {
    next: () => items.next(),
    return: () => {
      onReturn();
      items.return(undefined).catch(() => undefined);
      return Promise.resolve({ done: true, value: undefined });
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
};

// Finds the answer to one message from outside in the frames of its run.
/** Why no answer will come. */
type NoAnswerReason = { readonly noAnswer: string };

export type AnswerFold = FrameFold<Answer | NoAnswerReason> & {
  /** Whether the log has the message. */
  readonly isMessageKnown: boolean;
};

/** What changes in the states of messages with a frame. */
type ReadChanges = (frame: Frame) => readonly MailReport[];

const followChanges = (): ReadChanges => {
  const states = followMessageStates();
  return (frame) => states.next(frame);
};

/** `message`: the message id; null: the message that the run was spawned with. `changes`: if others follow the run, too. */
export const followAnswer = (message: string | null, changes: ReadChanges = followChanges()): AnswerFold => {
  let [reader, isRead]: [CellId | null, boolean] = [null, false];
  return {
    get isMessageKnown() {
      return reader !== null;
    },
    next: (frame) => {
      const { record } = frame;
      const answer = findAnswer(frame, message, isRead && frame.cell === reader);
      if (answer !== null) return [answer];
      if (record.type === 'open' && message === null) reader = record.birth.cell;
      if (frame.cell === reader && (isRead || message === null) && isWithheld(frame))
        return [{ noAnswer: 'The answer was refused and did not leave the run.' }];
      const own = changes(frame).find(({ id }) => id === message);
      if (own !== undefined) {
        reader = own.to === 'outside' ? reader : (own.to ?? reader);
        isRead ||= own.state === 'read';
        if (own.message_type === 'broadcast') return [{ noAnswer: 'Messages published on a topic are not answered.' }];
        if (own.state === 'dead')
          return [{ noAnswer: `${own.recipient_id} did not read the message (${own.reason}).` }];
      }
      const isOver = record.type === 'settle' && record.ended !== undefined && record.ended.cell === reader;
      return isOver ? [{ noAnswer: 'The agent ended without answering the message.' }] : [];
    },
  };
};

const findAnswer = (frame: Frame, message: string | null, isNext: boolean): Answer | null => {
  const { record, contents = [], at } = frame;
  if (record.type !== 'post' || record.name !== 'mail:answer') return null;
  const messages = contents
    .filter(({ kind, to }) => kind === 'message' && to === 'outside')
    .map(({ content }) => decodeMail(content));
  const found =
    messages.find(({ correlation_id: of }) => of === message) ??
    (isNext ? messages.find((one) => one.message_type === 'answer') : undefined);
  return found === undefined ? null : readAnswer(found, record, at);
};

/** A message to the outside, from the record with which it was sent. */
export const readAnswer = (
  { id, correlation_id, agent_id, text }: Mail,
  record: Extract<Frame['record'], { type: 'post' }>,
  at: number,
): Answer => {
  const { status, error = null } = (record.about ?? {}) as { status: Status; error?: ErrorCode };
  // Without an answer, the text is one that the runtime wrote; here the error code replaces it.
  const isAnswered = status === 'completed' || status === 'partial';
  return { id, correlation_id, agent_id: agent_id ?? '', status, text: isAnswered ? text : '', error, at };
};

const isWithheld = ({ record }: Frame): boolean =>
  record.type === 'post' &&
  record.name === 'mail:answer' &&
  ((record.value ?? {}) as { dead?: readonly DeadLetter[] }).dead?.some(({ to }) => to === 'outside') === true;
