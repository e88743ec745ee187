// What the forks in a run's log changed. Each change applies from the fork's position on; recorded definitions stay as they are.
import type { CellId, RunId } from '#base';
import type { Amendment, Frame, GrantName } from '#contracts';
import type { Withdrawals } from '#core/crossings';

type Fork = {
  readonly no: number;
  /** The run that was forked. */
  readonly from: RunId;
  readonly position: string;
  readonly keptUntil: number;
  readonly pausedMs: number;
  readonly amendment: Amendment;
};

export class Amendments implements Withdrawals {
  readonly #forks: readonly Fork[];

  constructor(frames: readonly Frame[]) {
    this.#forks = frames.flatMap(({ no, at, record }) => {
      if (record.type !== 'fork') return [];
      const { from, amendment } = record;
      return [
        { no, from: from.run, position: from.at, keptUntil: at, pausedMs: Math.max(0, from.forkedAt - at), amendment },
      ];
    });
  }

  /** The grants that an agent's cells no longer have at this frame. */
  withdrawnFrom(agent: string, frame: number): readonly GrantName[] {
    return this.#forks.length === 0
      ? none
      : this.#amendmentsFor(agent, frame).flatMap(({ withoutGrants = [] }) => withoutGrants);
  }

  /** The model that replaced an agent's own before this frame. */
  modelAt(agent: string, frame: number): string | undefined {
    return this.#amendmentsFor(agent, frame).findLast(({ model }) => model !== undefined)?.model;
  }

  /** Every model that an amendment names for an agent. */
  modelsFor(agent: string): readonly string[] {
    return this.#amendmentsFor(agent, Infinity).flatMap(({ model }) => model ?? []);
  }

  /** The goal that replaces what the caller's model asked for in this operation. */
  goalAt(cell: CellId, op: number, frame: number): string | undefined {
    return this.#forks.findLast(
      ({ no, position, amendment }) => no < frame && position === `${cell}/${op}` && amendment.goal !== undefined,
    )?.amendment.goal;
  }

  /** The key of a step that began in this frame, or begins now. A fork reuses operation numbers for different work, so its keys differ. */
  stepKey(step: string, frame: number | undefined, run: RunId): string {
    const nth = this.#forks.findLastIndex(({ no }) => no < (frame ?? Infinity));
    // probe: fork-step-key
    return nth < 0 ? step : `${this.#forks[nth + 1]?.from ?? run}/${step}`;
  }

  isForkedBetween(first: number, last: number): boolean {
    return this.#forks.some(({ no }) => first < no && no < last);
  }

  /** For how long a cell created at that time was paused before forks, as seen from this frame. */
  pausedMs(createdAt: number, frame: number): number {
    let ms = 0;
    for (const fork of this.#forks) if (createdAt <= fork.keptUntil && fork.no < frame) ms += fork.pausedMs;
    return ms;
  }

  #amendmentsFor(agent: string, frame: number): readonly Amendment[] {
    return this.#forks.length === 0
      ? none
      : this.#forks.flatMap(({ no, amendment }) => (no < frame && amendment.agent === agent ? [amendment] : []));
  }
}

const none: readonly never[] = [];
export const noAmendments = new Amendments([]);
