// Finds out whose work keeps the event loop to itself.
//
//   stall-attributed-exactly. A piece of work that the runtime starts and ends itself is attributed to the cell it was for,
//       exactly.
//   stall-between-marks. Between two such marks, a regular tick shows that the loop is free. What ran since the newest tick or
//       mark belongs to the cell whose work ends next: a tool that awaits something, then blocks, then returns.
//   stall-late-tick. If a tick is late and no mark came before it, the stall belongs to the only cell that has a tool at work.
//       If there are several, or none, it is counted but attributed to no cell.
//   stall-watched-while-at-work. The loop is watched only while a step is at work, and shortly after.
import type { CellId, RunId } from '#base';
import type { CellStalls, StallMeter, StallReport } from '#contracts';

/** Real time, for the monitor only. */
export type StallClock = {
  /** Milliseconds since any moment; never goes back. */
  steady(): number;
  /** Calls back regularly until it is stopped, later if the loop is not free. */
  every(ms: number, tick: () => void): () => void;
};

/** A shorter piece of work is not counted. `Stalls` says so too. */
const stallMs = 100;
/** How often the loop is looked at; also the error of what `stall-between-marks` and `stall-late-tick` measure. */
const tickMs = 20;
const latestMax = 20;

export const noStallReport: StallReport = { count: 0, longestMs: 0, latest: [] };

export class StallMonitor {
  readonly #clock: StallClock;
  readonly #now: () => number;
  #mark = 0;
  #stop: (() => void) | null = null;
  #steps = 0;
  #tools = 0;
  /** The cell that has tools at work; null once there were several at a time, until no tool is at work. */
  #toolMeter: RunStallMeter | null = null;
  #toolCell: CellId | null = null;
  #report = noStallReport;

  constructor(clock: StallClock, now: () => number) {
    this.#clock = clock;
    this.#now = now;
  }

  meterFor(run: RunId): StallMeter {
    return new RunStallMeter(run, this);
  }

  report(): StallReport {
    return this.#report;
  }

  start(): void {
    if (this.#stop !== null) this.#mark = this.#clock.steady();
  }

  end(meter: RunStallMeter, cell: CellId): void {
    if (this.#stop === null) return;
    const ms = this.#elapsedMs();
    if (ms > stallMs) this.#count(ms, meter, cell);
  }

  stepStarted(meter: RunStallMeter, cell: CellId, isTool: boolean): void {
    this.#steps++;
    this.#watch();
    if (!isTool) return;
    const isOnly = this.#tools++ === 0 || (meter === this.#toolMeter && cell === this.#toolCell);
    this.#toolMeter = isOnly ? meter : null;
    this.#toolCell = isOnly ? cell : null;
  }

  stepEnded(isTool: boolean): void {
    this.#steps--;
    if (!isTool || --this.#tools > 0) return;
    this.#toolMeter = null;
    this.#toolCell = null;
  }

  #watch(): void {
    if (this.#stop !== null) return;
    this.#mark = this.#clock.steady();
    this.#stop = this.#clock.every(tickMs, () => this.#tick());
  }

  #tick(): void {
    const ms = this.#elapsedMs() - tickMs;
    if (ms > stallMs) this.#count(ms, this.#toolMeter, this.#toolCell);
    if (this.#steps > 0) return;
    this.#stop?.();
    this.#stop = null;
  }

  /** Since the last mark, which is moved to now. */
  #elapsedMs(): number {
    const now = this.#clock.steady();
    const ms = now - this.#mark;
    this.#mark = now;
    return ms;
  }

  #count(exactMs: number, meter: RunStallMeter | null, cell: CellId | null): void {
    const ms = Math.round(exactMs);
    if (meter !== null && cell !== null) meter.add(cell, ms);
    const { count, longestMs, latest } = this.#report;
    this.#report = {
      count: count + 1,
      longestMs: Math.max(longestMs, ms),
      latest: [...latest, { at: this.#now(), ms, run: meter?.run ?? null, cell }].slice(-latestMax),
    };
  }
}

/** Holds the stalls of one run until its next frame. */
class RunStallMeter implements StallMeter {
  readonly run: RunId;
  readonly #monitor: StallMonitor;
  #pending: CellStalls[] | undefined;

  constructor(run: RunId, monitor: StallMonitor) {
    this.run = run;
    this.#monitor = monitor;
  }

  start(): void {
    this.#monitor.start();
  }

  end(cell: CellId): void {
    this.#monitor.end(this, cell);
  }

  stepStarted(cell: CellId, isTool: boolean): void {
    this.#monitor.stepStarted(this, cell, isTool);
  }

  stepEnded(isTool: boolean): void {
    this.#monitor.stepEnded(isTool);
  }

  add(cell: CellId, longestMs: number): void {
    (this.#pending ??= []).push({ cell, count: 1, longestMs });
  }

  take(): readonly CellStalls[] | undefined {
    const pending = this.#pending;
    this.#pending = undefined;
    return pending;
  }
}
