// Everyone who reads a run while it runs: its events, and what other folds make of its frames.
//
//   told-after-commit. A frame reaches readers after the commit that holds it, so whatever they pass on is still true after a
//       crash. A live piece follows the frame that began its operation.
import type { CellId, RunId } from '#base';
import { checkOptions } from '#base/shapes';
import { decodeMail, seesShape } from '#contracts';
import type {
  Cause,
  Frame,
  LiveChannel,
  LiveEvent,
  ProtocolEvent,
  RunEvent,
  RunSession,
  Sees,
  Transcript,
  TranscriptOptions,
} from '#contracts';
import { listAnswerCauses, listCauses, projectEvents, protocolEvents } from '#core/events';
import { AnswerBook } from './answer-book.ts';
import { FrameReader, abortableIterator } from './frame-reader.ts';
import type { FrameFold } from './frame-reader.ts';
import { followersElsewhere } from './followed-pieces.ts';
import type { FollowersElsewhere } from './followed-pieces.ts';
import { quoteLongOutputs, readTranscript, transcriptFields } from './read-transcript.ts';

type RecordedFrames = {
  readonly run: RunId;
  /** Whether the run has frames that a new reader has missed. */
  readonly hasFrames: boolean;
  readonly ended: boolean;
  /** The number of the newest durable frame; -1: none. */
  readonly committed: number;
  /** Waits for frames that are not on disk yet; they would otherwise be missed. */
  readRecorded(): Promise<readonly Frame[]>;
  /** Waits as well: an event can come before the output that it names is stored. */
  getBlob(ref: string): Promise<Uint8Array>;
};

/** Gets durable frames, and is told when no more will come. */
export type FrameListener = Pick<FrameReader<unknown>, 'frame' | 'end'>;

type PendingPiece = { readonly cell: CellId; readonly agent: string; readonly event: LiveEvent };

/** `isComplete`: it has seen all frames. */
type FollowedAnswers = { readonly book: AnswerBook; isComplete: boolean };

/** Separates recorded items from new ones: an answer may have arrived before the caller waits for it. */
export const caughtUp = Symbol('caught up');

export class RunFeed {
  readonly #recorded: RecordedFrames;
  readonly #others: FollowersElsewhere | undefined;
  readonly #readers = new Set<FrameListener>();
  /** The readers of events get live ones, too; what models think, only those who see contents. */
  readonly #eventReaders = new Map<FrameReader<RunEvent>, Sees>();

  /**
   * What the model of each cell has written in the attempt in flight. A reader that comes meanwhile, such as a page that is loaded again, is
   * told so far, and the rest as it is written.
   */
  readonly #written = new Map<CellId, { readonly agent: string; text: string }>();

  /** Once somebody has waited for the answer to a message. */
  #answers: FollowedAnswers | undefined;

  /** Whether those in other processes are told what is said live. */
  #tellsOthers = false;

  /** Frames that are not durable yet, and live pieces of operations that began in them. */
  #uncommitted: (Frame | PendingPiece)[] = [];

  /** `live`: passes on what is said to other processes. */
  constructor(recorded: RecordedFrames, live?: LiveChannel) {
    this.#recorded = recorded;
    this.#others = live && followersElsewhere(recorded, live);
  }

  get hasEventReaders(): boolean {
    return this.#eventReaders.size > 0;
  }

  frame(frame: Frame): void {
    // probe: told-after-commit
    if (frame.no > this.#recorded.committed) this.#uncommitted.push(frame);
    else this.#pass(frame);
  }

  /** Passes on what has become durable. */
  release(): void {
    const { committed } = this.#recorded;
    const end = this.#uncommitted.findIndex((one) => 'no' in one && one.no > committed);
    const released = end < 0 ? this.#uncommitted : this.#uncommitted.slice(0, end);
    this.#uncommitted = end < 0 ? [] : this.#uncommitted.slice(end);
    for (const one of released)
      if ('no' in one) this.#pass(one);
      else this.#passLive(one);
  }

  #pass(frame: Frame): void {
    // Whatever has settled is in the log. Of an attempt that goes on, the beginning is unknown from here on.
    if (frame.record.type === 'settle') this.#written.delete(frame.cell);
    for (const reader of this.#readers) reader.frame(frame);
  }

  live(cell: CellId, agent: string, event: LiveEvent): void {
    const piece = { cell, agent, event };
    if (this.#uncommitted.some((one) => one.cell === cell)) this.#uncommitted.push(piece);
    else this.#passLive(piece);
  }

  #passLive({ cell, agent, event }: PendingPiece): void {
    this.#keep(cell, agent, event);
    this.#tellOthers({ cell, agent, event });
    const of = { run: this.#recorded.run, cell, agent };
    const chars = 'text' in event ? event.text.length : 0;
    const isContent = event.type === 'reasoning-delta';
    for (const [reader, sees] of this.#eventReaders)
      if (!isContent || sees === 'contents')
        reader.pushLive({ ...event, ...of }, chars, () => ({ type: 'text-lag', ...of }));
  }

  /** From the beginning of each text, if somebody has come in the middle. */
  #tellOthers(piece: PendingPiece): void {
    const others = this.#others;
    const told = this.#tellsOthers;
    this.#tellsOthers = others?.isFollowing() === true;
    if (others === undefined || !this.#tellsOthers) return;
    if (told || piece.event.type === 'reasoning-delta') others.tell(piece);
    for (const [cell, { agent, text }] of told ? [] : this.#written) {
      others.tell({ cell, agent, event: { type: 'text-reset' } });
      if (text !== '') others.tell({ cell, agent, event: { type: 'text-delta', text } });
    }
  }

  /** Text whose beginning passed before it was kept is not kept. */
  #keep(cell: CellId, agent: string, event: LiveEvent): void {
    if (event.type === 'text-reset') this.#written.set(cell, { agent, text: '' });
    else if (event.type === 'text-delta') {
      const written = this.#written.get(cell);
      if (written !== undefined) written.text += event.text;
    }
  }

  /** What is being written, from its beginning. */
  #tellWritten(reader: FrameReader<RunEvent>): void {
    // probe: late-text
    for (const [cell, { agent, text }] of this.#written) {
      const of = { run: this.#recorded.run, cell, agent };
      const lag = (): RunEvent => ({ type: 'text-lag', ...of });
      reader.pushLive({ type: 'text-reset', ...of }, 0, lag);
      if (text !== '') reader.pushLive({ type: 'text-delta', text, ...of }, text.length, lag);
    }
  }

  /** What never became durable is never told. */
  end(): void {
    this.#uncommitted = [];
    this.#written.clear();
    for (const reader of this.#readers) reader.end();
  }

  /** A reader that falls behind reads the log again if `rereads`; otherwise everything is buffered for it. */
  open<T>(fold: FrameFold<T>, rereads = false): FrameReader<T> {
    const reader = new FrameReader(fold, rereads ? () => this.#recorded.readRecorded() : undefined);
    this.#readers.add(reader);
    return reader;
  }

  /** Passes durable frames on from now on. Returns a function that ends it. */
  listen(listener: FrameListener): () => void {
    this.#readers.add(listener);
    return () => void this.#readers.delete(listener);
  }

  leave<T>(reader: FrameReader<T>): void {
    reader.close();
    this.#readers.delete(reader);
  }

  /** For a message that came while the answers were followed; undefined for others, whose answers are in the log. */
  followAnswer(message: string): ReturnType<AnswerBook['follow']> | undefined {
    if (this.#answers === undefined) void this.#openAnswers().catch(() => (this.#answers = undefined));
    const { book, isComplete } = this.#answers ?? {};
    if (book === undefined || isComplete !== true) return undefined;
    const isComing = (): boolean => this.#uncommitted.some((one) => 'no' in one && brings(one, message));
    return book.knows(message) || isComing() ? book.follow(message) : undefined;
  }

  async #openAnswers(): Promise<void> {
    const answers: FollowedAnswers = (this.#answers = { book: new AnswerBook(), isComplete: false });
    const reader = this.open(answers.book);
    reader.catchUp(this.#recorded.hasFrames ? await this.#recorded.readRecorded() : []);
    answers.isComplete = true;
  }

  /** Yields the items of recorded frames, then `caughtUp`, then new items. `past`: those that matter, if that is known. */
  async *follow<T>(reader: FrameReader<T>, past?: readonly Frame[]): AsyncGenerator<T | typeof caughtUp> {
    try {
      reader.catchUp(past ?? (this.#recorded.hasFrames ? await this.#recorded.readRecorded() : []));
      yield caughtUp;
      yield* this.items(reader);
    } finally {
      this.#readers.delete(reader);
    }
  }

  async *items<T>(reader: FrameReader<T>): AsyncGenerator<T> {
    try {
      if (this.#recorded.ended) reader.end();
      yield* reader.items();
    } finally {
      this.#readers.delete(reader);
    }
  }

  async *protocol(): AsyncGenerator<ProtocolEvent> {
    for await (const event of this.follow(this.open(protocolEvents()))) if (event !== caughtUp) yield event;
  }

  async causes(options: NonNullable<Parameters<RunSession['causes']>[0]> = {}): Promise<readonly Cause[]> {
    checkOptions(options, { answer: 'name' });
    if (!this.#recorded.hasFrames) return [];
    const fold = projectEvents('causes');
    const events = (await this.#recorded.readRecorded()).flatMap((frame) => fold.next(frame));
    return options.answer === undefined ? listCauses(events) : listAnswerCauses(events, options.answer);
  }

  /** From the first on; a reader counts from its first `next`. `outcome` is awaited at the end. */
  events(outcome: Promise<unknown>, sees: Sees, details = false): AsyncIterableIterator<RunEvent> {
    const reader = new FrameReader<RunEvent>(projectEvents(sees, details), () => this.#recorded.readRecorded());
    return abortableIterator(this.#eventsFor(reader, outcome, sees), () => {
      this.leave(reader);
      this.#eventReaders.delete(reader);
    });
  }

  /** For a reader who may not see everything, or who asks for contents. */
  eventsWith(
    outcome: Promise<unknown>,
    options: NonNullable<Parameters<RunSession['events']>[0]> = {},
  ): AsyncIterable<RunEvent> {
    checkOptions(options, { sees: seesShape, details: 'flag' });
    const { sees = 'contents', details = false } = options;
    const events = (): AsyncIterator<RunEvent> => this.events(outcome, sees, details);
    return { [Symbol.asyncIterator]: details ? () => quoteLongOutputs(events(), this.#recorded) : events };
  }

  async transcript(options: TranscriptOptions = {}): Promise<Transcript> {
    checkOptions(options, transcriptFields);
    const { run, hasFrames } = this.#recorded;
    const frames = hasFrames ? await this.#recorded.readRecorded() : [];
    return readTranscript(run, frames, { store: this.#recorded }, options);
  }

  async *#eventsFor(reader: FrameReader<RunEvent>, outcome: Promise<unknown>, sees: Sees): AsyncGenerator<RunEvent> {
    this.#readers.add(reader);
    this.#eventReaders.set(reader, sees);
    this.#tellWritten(reader);
    try {
      reader.catchUp(this.#recorded.hasFrames ? await this.#recorded.readRecorded() : []);
      if (this.#recorded.ended) reader.end();
      // Not by `follow`: every generator in between lets a quick reader fall further behind.
      yield* reader.items();
      if (!reader.closed) await outcome;
    } finally {
      this.#readers.delete(reader);
      this.#eventReaders.delete(reader);
    }
  }
}

/** Whether a message comes from outside with this frame. */
const brings = ({ record, contents = [] }: Frame, message: string): boolean =>
  record.type === 'mail' &&
  (record.dead?.id === message ||
    contents.some(({ from, content }) => from === 'outside' && decodeMail(content).id === message));
