// Chooses which calls of a model or tool fail, and how: by call number, or at random from a seed.
import type { Clock } from '#contracts';
import { Rng } from './isolation/rng.ts';
import { realClock } from './real-clock.ts';

/** Which calls fail, and how: by number, or at random from a seed. */
export type FaultPlan<F> = {
  /** Faults by call number, from 1. */
  readonly at?: Readonly<Record<number, F>>;
  /** All other calls fail in `percent` of cases, with one of `kinds`. The same seed gives the same faults. */
  readonly seed?: number | string;
  /** From 0 to 100. Default: 0. */
  readonly percent?: number;
  /** The faults to choose from. */
  readonly kinds?: readonly F[];
  /** The clock for delays. Default: real time. */
  readonly clock?: Pick<Clock, 'timer'>;
};

/** The faults so far, by call number. */
export type FaultLog<F> = ReadonlyMap<number, F>;

export class FaultChooser<F> {
  readonly met = new Map<number, F>();
  readonly clock: Pick<Clock, 'timer'>;
  readonly #faults: FaultPlan<F>;
  #calls = 0;

  /** `known` lists the valid faults. Throws for an invalid one: it would do nothing, and a test of it would show nothing. */
  constructor(faults: FaultPlan<F>, known: FaultNames) {
    checkFaults(faults, known);
    this.#faults = faults;
    this.clock = faults.clock ?? realClock;
  }

  /** The fault of the next call. */
  next(): F | undefined {
    const nth = ++this.#calls;
    const { at, seed = 0, percent = 0, kinds = [] } = this.#faults;
    const rng = new Rng(`${seed} fault ${nth}`);
    const fault = at?.[nth] ?? (kinds.length > 0 && rng.percent(percent) ? rng.pick(kinds) : undefined);
    if (fault !== undefined) this.met.set(nth, fault);
    return fault;
  }

  async sleep(ms: number): Promise<void> {
    await new Promise<void>((resolve) => void this.clock.timer(ms, resolve));
  }
}

type FaultNames = {
  readonly names: readonly string[];
  /** Faults that are objects, and what to call them. */
  readonly others?: { readonly text: string; readonly matches: (fault: object) => boolean };
};

const checkFaults = ({ at = {}, percent, kinds = [] }: FaultPlan<unknown>, known: FaultNames): void => {
  const refuse = (field: string, expected: string): never => {
    throw new TypeError(`Faults, ${field}: expected ${expected}.`);
  };
  const others = known.others === undefined ? '' : `${known.others.text}, `;
  const expected = `${known.names.join(', ')}, ${others}{ slowMs }, or a status from 400 to 599`;
  for (const [nth, fault] of Object.entries(at)) {
    if (!/^[1-9]\d*$/u.test(nth)) refuse(`at.${nth}`, 'a call number, from 1');
    if (!isFault(fault, known)) refuse(`at.${nth}`, expected);
  }
  for (const fault of kinds) if (!isFault(fault, known)) refuse('kinds', expected);
  if (percent !== undefined && !(percent >= 0 && percent <= 100)) refuse('percent', 'a number from 0 to 100');
  if ((percent ?? 0) > 0 && kinds.length === 0)
    refuse('kinds', `the faults that \`percent\` chooses from: ${expected}`);
};

const isFault = (fault: unknown, { names, others }: FaultNames): boolean => {
  if (typeof fault === 'string') return names.includes(fault);
  if (typeof fault === 'number') return Number.isInteger(fault) && fault >= 400 && fault <= 599;
  const { slowMs } = (fault ?? {}) as { readonly slowMs?: unknown };
  if (others?.matches(fault ?? {}) === true) return true;
  return typeof slowMs === 'number' && slowMs >= 0;
};

/** Settles only when the caller gives up. */
export const hang = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_resolve, reject) => {
    const stop = (): void => reject(signal?.reason as Error);
    if (signal?.aborted === true) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
