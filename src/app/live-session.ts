// A run as its caller holds it: events to iterate, an outcome to await, a way to cancel.
import { CloisterError } from '#base';
import type { CellId, RunId } from '#base';
import type { Frame, LiveEvent, RunEvent, RunOutcome, RunLog, RunSession, Store } from '#contracts';
import { projectEvents } from '#core/audit';
import type { EventFold } from '#core/audit';
import type { LiveRun } from '#core/orchestration';
import { checkAsked, checkGiven } from './conversations/check-asked.ts';

/** A reader that lags this far behind loses live pieces, never what is recorded. */
const bufferedMax = 10_000;

type Controls = Pick<LiveRun, 'cancel' | 'give' | 'refreshShare'>;

export class LiveSession implements RunSession {
  readonly run: RunId;
  readonly outcome: Promise<RunOutcome>;
  readonly #store: Store;
  #live: Controls | undefined;
  #log: RunLog | undefined;
  /** What was given before it began. */
  #early: string[] | undefined;
  #readers: Set<Reader> | undefined;
  #framesSeen: number;
  cancelled = false;
  #over = false;

  /** `follow` runs to the end; it must not begin before the next microtask, so that iterators can be made first. */
  constructor(run: RunId, store: Store, framesSeen: number, follow: (session: LiveSession) => Promise<RunOutcome>) {
    this.run = run;
    this.#store = store;
    this.#framesSeen = framesSeen;
    this.outcome = follow(this);
    // Whoever awaits it, or iterates to the end, hears of a failure; nobody has to.
    this.outcome.catch(ignored);
  }

  /** The run itself, once it is under way. */
  attach(live: Controls, log: RunLog): void {
    this.#live = live;
    this.#log = log;
    const early = this.#early ?? [];
    this.#early = undefined;
    // It may have been cancelled before it began: then nobody is left to know.
    if (!this.cancelled) for (const text of early) live.give(text);
  }

  /** No more events will come. */
  end(): void {
    this.#over = true;
    for (const reader of this.#readers ?? []) reader.end();
  }

  durable(): Promise<void> | undefined {
    return this.#over ? undefined : this.#log?.durable();
  }

  get heard(): boolean {
    return this.#readers !== undefined && this.#readers.size > 0;
  }

  cancel(): void {
    this.cancelled = true;
    this.#live?.cancel();
  }

  give(text: string): void {
    checkGiven(text);
    if (this.#over) throw new CloisterError('cell_ended', `Run ${this.run} has ended.`);
    if (this.#live === undefined) (this.#early ??= []).push(text);
    else this.#live.give(text);
  }

  refreshShare(child: string): number {
    checkAsked('child', child, 'name');
    if (this.#live !== undefined && !this.#over) return this.#live.refreshShare(child);
    throw new CloisterError('cell_ended', `Run ${this.run} ${this.#over ? 'has ended' : 'has not begun'}.`);
  }

  onFrame(frame: Frame): void {
    this.#framesSeen = frame.no + 1;
    if (this.#readers !== undefined) for (const reader of this.#readers) reader.frame(frame);
  }

  onLive(cell: CellId, agent: string, event: LiveEvent): void {
    for (const reader of this.#readers ?? []) reader.push({ ...event, run: this.run, cell, agent });
  }

  /** What was written before a reader came; what is not on disk yet is waited for, or it would be in neither list. */
  async #past(): Promise<readonly Frame[]> {
    await this.durable();
    return this.#store.read(this.run);
  }

  async *[Symbol.asyncIterator](): AsyncIterator<RunEvent> {
    const reader = new Reader(projectEvents());
    const readers = (this.#readers ??= new Set());
    readers.add(reader);
    try {
      reader.catchUp(this.#framesSeen === 0 ? [] : await this.#past());
      if (this.#over) reader.end();
      yield* reader.events();
      await this.outcome;
    } finally {
      readers.delete(reader);
    }
  }
}

const ignored = (): undefined => undefined;

class Reader {
  readonly #project: EventFold;
  #buffer: RunEvent[] = [];
  #early: Frame[] | null = [];
  #next = 0;
  #ended = false;
  #wake: (() => void) | null = null;

  constructor(project: EventFold) {
    this.#project = project;
  }

  frame(frame: Frame): void {
    if (this.#early !== null) this.#early.push(frame);
    else if (frame.no >= this.#next) {
      this.#next = frame.no + 1;
      for (const event of this.#project.next(frame)) this.push(event);
    }
  }

  /** First what was written before this reader came, then what came meanwhile. */
  catchUp(past: readonly Frame[]): void {
    const early = this.#early ?? [];
    this.#early = null;
    for (const frame of past) this.frame(frame);
    for (const frame of early) this.frame(frame);
  }

  push(event: RunEvent): void {
    // Live pieces are for now: not before what was recorded earlier, and not for who lags behind.
    if (!('id' in event) && (this.#early !== null || this.#buffer.length >= bufferedMax)) return;
    this.#buffer.push(event);
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async *events(): AsyncGenerator<RunEvent> {
    for (;;) {
      const events = this.#buffer;
      this.#buffer = [];
      yield* events;
      if (this.#buffer.length > 0) continue;
      if (this.#ended) return;
      await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#wake = null;
    }
  }
}
