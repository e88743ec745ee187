// The messages of a run that can still change, by their place in a ledger, and by the end that they go to.
import type { CrossingEnd, MailReport } from '#contracts';

export class OpenReports<T extends MailReport> {
  readonly #all = new Map<string, T>();
  /** Of an end that has ended, or reads something, not all messages of the run are looked through. */
  readonly #byEnd = new Map<CrossingEnd, Map<string, T>>();

  get size(): number {
    return this.#all.size;
  }

  get(key: string): T | undefined {
    return this.#all.get(key);
  }

  add(key: string, report: T): void {
    this.#all.set(key, report);
    if (report.to === null) return;
    const waiting = this.#byEnd.get(report.to);
    if (waiting === undefined) this.#byEnd.set(report.to, new Map([[key, report]]));
    else waiting.set(key, report);
  }

  delete(key: string): void {
    const to = this.#all.get(key)?.to ?? null;
    this.#all.delete(key);
    if (to === null) return;
    const waiting = this.#byEnd.get(to);
    waiting?.delete(key);
    if (waiting?.size === 0) this.#byEnd.delete(to);
  }

  /** Those to one end, in log order. */
  toward(end: CrossingEnd): readonly (readonly [key: string, report: T])[] {
    return [...(this.#byEnd.get(end) ?? [])];
  }
}
