// What the forks in a run's log changed, each from its place in the log on. The definitions stay as they were recorded.
import type { CellId, RunId } from '#base';
import type { Amendment, Frame, Grant } from '#contracts';

type Fork = {
  readonly no: number;
  /** The run that it was made of. */
  readonly from: RunId;
  readonly place: string;
  readonly keptUntil: number;
  readonly pausedMs: number;
  readonly amendment: Amendment;
};

export class Amendments {
  readonly #forks: readonly Fork[];

  constructor(frames: readonly Frame[]) {
    this.#forks = frames.flatMap(({ no, at, record }) => {
      if (record.type !== 'fork') return [];
      const { from, amendment } = record;
      return [
        { no, from: from.run, place: from.at, keptUntil: at, pausedMs: Math.max(0, from.forkedAt - at), amendment },
      ];
    });
  }

  /** The grants that an agent's cells still have in this frame: never more than its definition gives. */
  grants(agent: string, grants: readonly Grant[], frame: number): readonly Grant[] {
    const lost = this.#for(agent, frame).flatMap(({ withoutGrants = [] }) => withoutGrants);
    return lost.length === 0 ? grants : grants.filter(({ name }) => !lost.some((one) => one === name));
  }

  /** The model that took the place of an agent's own before this frame. */
  modelAt(agent: string, frame: number): string | undefined {
    return this.#for(agent, frame).findLast(({ model }) => model !== undefined)?.model;
  }

  /** Every model that an amendment names for an agent. */
  modelsOf(agent: string): readonly string[] {
    return this.#for(agent, Infinity).flatMap(({ model }) => model ?? []);
  }

  /** The goal that takes the place of what the caller's model asked for in this operation. */
  goalAt(cell: CellId, op: number, frame: number): string | undefined {
    return this.#forks.findLast(
      ({ no, place, amendment }) => no < frame && place === `${cell}/${op}` && amendment.goal !== undefined,
    )?.amendment.goal;
  }

  /** The key of a step that began in this frame, or begins now: a fork asks for other things under the same numbers. */
  keyOf(step: string, frame: number | undefined, run: RunId): string {
    const nth = this.#forks.findLastIndex(({ no }) => no < (frame ?? Infinity));
    // probe: fork-step-key
    return nth < 0 ? step : `${this.#forks[nth + 1]?.from ?? run}/${step}`;
  }

  /** How long a cell that was born then lay in the log of another run, seen from this frame. */
  pausedMs(bornAt: number, frame: number): number {
    let ms = 0;
    for (const fork of this.#forks) if (bornAt <= fork.keptUntil && fork.no < frame) ms += fork.pausedMs;
    return ms;
  }

  #for(agent: string, frame: number): readonly Amendment[] {
    return this.#forks.length === 0
      ? none
      : this.#forks.flatMap(({ no, amendment }) => (no < frame && amendment.agent === agent ? [amendment] : []));
  }
}

const none: readonly Amendment[] = [];
export const noAmendments = new Amendments([]);
