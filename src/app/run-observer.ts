// One observer of all runs of a Cloister in this process.
//
//   observer-once-in-order. An observer gets the durable events of every run once and in order, from the first of each run on,
//       however slow it is.
//   observer-buffer-bounded. What is buffered for an observer is bounded for all runs together: 256 KiB plus the events of one
//       frame. A run that does not fit any more is read from its log when the observer has taken what came before.
//   observer-released-on-leave. An observer that leaves is released immediately, and runs pass nothing on to it any more.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { DurableEvent, Frame, ObserveOptions, Store } from '#contracts';
import { projectEvents } from '#core/events';
import { abortableIterator, estimateBytes, isBufferFull } from './frame-reader.ts';
import type { FrameFold } from './frame-reader.ts';
import type { FrameListener } from './run-feed.ts';
import { quoteLongOutput } from './read-transcript.ts';

/** How many runs may end unread: of each, the observer keeps only its id and how far it has read. */
const unreadRunsMax = 10_000;

type ObservableRun = {
  readonly run: RunId;
  /** Whether it has frames that a listener added now has missed. */
  readonly hasFrames: boolean;
  /** Passes durable frames on from now on. Returns a function that ends it. */
  listen(listener: FrameListener): () => void;
};

/** Both wait for what is not on disk yet. */
type ObservedLogs = {
  read(run: RunId): Promise<readonly Frame[]>;
  blobsOf(run: RunId): Pick<Store, 'getBlob'>;
};

type ObservedRun = {
  readonly run: RunId;
  /** Null: its events are to be read from the log. A fold would have to be kept for each run that waits for that. */
  fold: FrameFold<DurableEvent> | null;
  /** The number of the next frame to read, and of the newest that was passed on. */
  next: number;
  newest: number;
  /** It is not running any more. */
  ended: boolean;
  /** Its log is complete. Otherwise it may be resumed, and what was read is not read again. */
  closed: boolean;
  /** It waits for its turn to be read from the log. */
  queued: boolean;
  stop: () => void;
};

type BufferedEvent = { readonly event: DurableEvent; readonly bytes: number };

export class RunObserver {
  readonly #options: ObserveOptions;
  readonly #logs: ObservedLogs;
  readonly #onLeave: () => void;
  readonly #runs = new Map<RunId, ObservedRun>();
  /** Events, and runs whose logs are to be read at this place. */
  #waiting: (BufferedEvent | ObservedRun)[] = [];
  #bytes = 0;
  #events = 0;
  /** Runs that have ended and wait to be read. */
  #unread = 0;
  #isOver = false;
  #left = false;
  #failure: CloisterError | undefined;
  #wake: (() => void) | null = null;

  constructor(options: ObserveOptions, logs: ObservedLogs, onLeave: () => void) {
    this.#options = options;
    this.#logs = logs;
    this.#onLeave = onLeave;
  }

  add(session: ObservableRun): void {
    const known = this.#runs.get(session.run);
    // A second request for a run that is running is refused by the store, and records nothing.
    if (known?.ended === false) return;
    const run = known ?? newRun(session.run, this.#newFold());
    if (run.queued) this.#unread -= 1;
    run.ended = false;
    this.#runs.set(session.run, run);
    run.stop = session.listen({ frame: (frame) => this.#frame(run, frame), end: () => this.#end(run) });
    if (session.hasFrames) this.#readLater(run);
  }

  /** There will be no more runs. */
  end(): void {
    this.#isOver = true;
    this.#wake?.();
  }

  leave(): void {
    if (this.#left) return;
    this.#left = true;
    this.#onLeave();
    for (const run of this.#runs.values()) run.stop();
    this.#runs.clear();
    this.#waiting = [];
    this.#wake?.();
  }

  events(): AsyncIterableIterator<DurableEvent> {
    const { signal } = this.#options;
    const leave = (): void => {
      signal?.removeEventListener('abort', leave);
      this.leave();
    };
    if (signal?.aborted === true) leave();
    else signal?.addEventListener('abort', leave, { once: true });
    return abortableIterator(this.#items(leave), leave);
  }

  #newFold(): FrameFold<DurableEvent> {
    const { sees = 'contents', details = false } = this.#options;
    return projectEvents(sees, details);
  }

  #frame(run: ObservedRun, frame: Frame): void {
    if (frame.no < run.next) return;
    run.newest = Math.max(run.newest, frame.no);
    if (run.fold === null) return;
    if (isBufferFull(this.#events, this.#bytes)) return this.#readLater(run);
    for (const event of advance(run, run.fold, frame)) {
      const bytes = estimateBytes(event);
      this.#waiting.push({ event, bytes });
      this.#bytes += bytes;
      this.#events += 1;
    }
    this.#wake?.();
  }

  /** The log is read after everything that waits now, so that no run is left behind by busy ones. */
  #readLater(run: ObservedRun): void {
    run.fold = null;
    if (run.queued) return;
    run.queued = true;
    this.#waiting.push(run);
    this.#wake?.();
  }

  #end(run: ObservedRun): void {
    run.ended = true;
    run.stop();
    if (!run.queued) return this.#forget(run);
    this.#unread += 1;
    if (this.#unread <= unreadRunsMax) return;
    this.#failure = new CloisterError('observer_behind', `${this.#unread} runs ended before their events were read.`);
    this.leave();
  }

  #forget(run: ObservedRun): void {
    run.fold = null;
    if (run.closed || run.next === 0) this.#runs.delete(run.run);
  }

  async *#items(leave: () => void): AsyncGenerator<DurableEvent> {
    try {
      while (!this.#left) {
        const next = this.#waiting.shift();
        if (next === undefined) {
          if (this.#isOver) return;
          await new Promise<void>((resolve) => (this.#wake = resolve));
          this.#wake = null;
        } else if ('event' in next) {
          this.#bytes -= next.bytes;
          this.#events -= 1;
          yield await this.#withContents(next.event);
        } else yield* this.#readRun(next);
      }
    } finally {
      leave();
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  async *#readRun(run: ObservedRun): AsyncGenerator<DurableEvent> {
    const fold = this.#newFold();
    for (const frame of await this.#readLog(run.run)) {
      if (frame.no < run.next) fold.next(frame);
      else for (const event of advance(run, fold, frame)) yield await this.#withContents(event);
      if (this.#left) return;
    }
    run.queued = false;
    if (run.ended) this.#unread -= 1;
    // Frames came while the log was read.
    if (run.newest >= run.next) return this.#readLater(run);
    run.fold = fold;
    if (run.ended) this.#forget(run);
  }

  /** Of a run that could not be recorded, or was deleted meanwhile, there is nothing to tell. */
  async #readLog(run: RunId): Promise<readonly Frame[]> {
    try {
      return await this.#logs.read(run);
    } catch (error) {
      if (error instanceof CloisterError && error.code === 'run_unknown') return [];
      throw error;
    }
  }

  #withContents(event: DurableEvent): DurableEvent | Promise<DurableEvent> {
    return this.#options.details === true ? quoteLongOutput(event, this.#logs.blobsOf(event.run)) : event;
  }
}

const newRun = (run: RunId, fold: FrameFold<DurableEvent>): ObservedRun => ({
  run,
  fold,
  next: 0,
  newest: -1,
  ended: false,
  closed: false,
  queued: false,
  stop: () => undefined,
});

const advance = (run: ObservedRun, fold: FrameFold<DurableEvent>, frame: Frame): readonly DurableEvent[] => {
  run.next = frame.no + 1;
  run.closed ||= frame.record.type === 'close';
  return fold.next(frame);
};
