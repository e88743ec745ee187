// Adds up the reports of many seeds. It imports no code of the runtime: a process that only starts others loads it quickly.
import type { Counts } from './faults.ts';
import type { SeedReport } from './simulate.ts';

export type SeedsReport = {
  readonly ok: boolean;
  readonly from: number;
  readonly seeds: number;
  /** How many of them ran twice. */
  readonly twice: number;
  readonly failures: readonly SeedReport[];
  readonly figures: Counts;
  readonly faults: Counts;
  readonly checks: Counts;
  readonly seconds: number;
  readonly cpuSeconds: number;
};

/** Every nth seed runs twice. */
export const twiceEvery = 100;

export class SeedSums {
  readonly #from: number;
  readonly #startedAt = Date.now();
  readonly #failures: SeedReport[] = [];
  readonly #figures: Counts = {};
  readonly #faults: Counts = {};
  readonly #checks: Counts = {};
  #twice = 0;
  seeds = 0;

  constructor(from: number) {
    this.#from = from;
  }

  get failures(): number {
    return this.#failures.length;
  }

  add(report: SeedReport): void {
    this.seeds += 1;
    if (report.seed % twiceEvery === 0) this.#twice += 1;
    add(this.#figures, report.figures);
    add(this.#faults, report.faults);
    add(this.#checks, report.checks);
    if (!report.ok) this.#failures.push(report);
  }

  report(cpuSeconds: number): SeedsReport {
    return {
      ok: this.#failures.length === 0,
      from: this.#from,
      seeds: this.seeds,
      twice: this.#twice,
      failures: this.#failures,
      figures: this.#figures,
      faults: this.#faults,
      checks: this.#checks,
      seconds: (Date.now() - this.#startedAt) / 1_000,
      cpuSeconds,
    };
  }
}

const add = (sums: Counts, more: Counts): void => {
  for (const [name, count] of Object.entries(more)) sums[name] = (sums[name] ?? 0) + count;
};
