// A run as its caller holds it: events to iterate, an outcome to await, a way to cancel.
import type { CellId, RunId } from '#base';
import type { DurableEvent, Frame, LiveEvent, RunEvent, RunOutcome, RunSession } from '#contracts';

type Project = { next(frame: Frame): readonly DurableEvent[] };

export type LiveSessionPorts = {
  readonly run: RunId;
  project(): Project;
  /** Frames written so far, durable or not. */
  past(): Promise<readonly Frame[]>;
  cancel(): void;
};

/** A slow reader is cut off rather than buffered without end. */
const bufferedMax = 100_000;

export class LiveSession implements RunSession {
  readonly run: RunId;
  readonly outcome: Promise<RunOutcome>;
  readonly #ports: LiveSessionPorts;
  readonly #readers = new Set<Reader>();
  #framesSeen = 0;
  #over = false;

  constructor(ports: LiveSessionPorts, outcome: Promise<RunOutcome>) {
    this.run = ports.run;
    this.#ports = ports;
    this.outcome = outcome;
    const end = () => this.#end();
    outcome.then(end, end);
  }

  get heard(): boolean {
    return this.#readers.size > 0;
  }

  cancel(): void {
    this.#ports.cancel();
  }

  onFrame(frame: Frame): void {
    this.#framesSeen = frame.no + 1;
    for (const reader of this.#readers) reader.frame(frame);
  }

  onLive(cell: CellId, agent: string, event: LiveEvent): void {
    for (const reader of this.#readers) reader.push({ ...event, run: this.run, cell, agent });
  }

  async *[Symbol.asyncIterator](): AsyncIterator<RunEvent> {
    const reader = new Reader(this.#ports.project());
    this.#readers.add(reader);
    try {
      if (this.#framesSeen > 0) reader.catchUp(await this.#ports.past());
      else reader.catchUp([]);
      if (this.#over) reader.end();
      yield* reader.events();
    } finally {
      this.#readers.delete(reader);
    }
  }

  #end(): void {
    this.#over = true;
    for (const reader of this.#readers) reader.end();
  }
}

class Reader {
  readonly #project: Project;
  #buffer: RunEvent[] = [];
  #early: Frame[] | null = [];
  #next = 0;
  #ended = false;
  #wake: (() => void) | null = null;

  constructor(project: Project) {
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
    if (this.#buffer.length >= bufferedMax) return;
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
