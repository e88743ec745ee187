// Which call of a model or tool goes wrong, and how: by its number, or by a seed.
import type { Clock, CancelTimer } from '#contracts';
import { Rng } from './isolation/rng.ts';

export type FaultPlan<F> = {
  /** By the number of the call, from 1. */
  readonly at?: Readonly<Record<number, F>>;
  /** Any other call: so many in a hundred, of these kinds. The same seed, the same faults. */
  readonly seed?: number | string;
  readonly percent?: number;
  readonly kinds?: readonly F[];
  /** For what takes time. Default: real time. */
  readonly clock?: Pick<Clock, 'timer'>;
};

/** What has gone wrong so far, by the number of the call. */
export type FaultLog<F> = ReadonlyMap<number, F>;

export class FaultChooser<F> {
  readonly met = new Map<number, F>();
  readonly clock: Pick<Clock, 'timer'>;
  readonly #faults: FaultPlan<F>;
  #calls = 0;

  /** `known` says what a fault may be. Throws for one that would do nothing: a test of it would show nothing. */
  constructor(faults: FaultPlan<F>, known: Known) {
    checkFaults(faults, known);
    this.#faults = faults;
    this.clock = faults.clock ?? realTimer;
  }

  /** For the next call. */
  next(): F | undefined {
    const nth = ++this.#calls;
    const { at, seed = 0, percent = 0, kinds = [] } = this.#faults;
    const chance = new Rng(`${seed} fault ${nth}`);
    const fault = at?.[nth] ?? (kinds.length > 0 && chance.percent(percent) ? chance.pick(kinds) : undefined);
    if (fault !== undefined) this.met.set(nth, fault);
    return fault;
  }

  async sleep(ms: number): Promise<void> {
    await new Promise<void>((resolve) => void this.clock.timer(ms, resolve));
  }
}

type Known = { readonly words: readonly string[] };

const checkFaults = ({ at = {}, percent, kinds = [] }: FaultPlan<unknown>, known: Known): void => {
  const wrong = (field: string, expected: string): never => {
    throw new TypeError(`Faults, ${field}: expected ${expected}.`);
  };
  const expected = `${known.words.join(', ')}, { slowMs }, or a status from 400 to 599`;
  for (const [nth, fault] of Object.entries(at)) {
    if (!/^[1-9]\d*$/u.test(nth)) wrong(`at.${nth}`, 'the number of a call, from 1');
    if (!isFault(fault, known)) wrong(`at.${nth}`, expected);
  }
  for (const fault of kinds) if (!isFault(fault, known)) wrong('kinds', expected);
  if (percent !== undefined && !(percent >= 0 && percent <= 100)) wrong('percent', 'a number from 0 to 100');
  if ((percent ?? 0) > 0 && kinds.length === 0) wrong('kinds', `which faults \`percent\` chooses from: ${expected}`);
};

const isFault = (fault: unknown, { words }: Known): boolean => {
  if (typeof fault === 'string') return words.includes(fault);
  if (typeof fault === 'number') return Number.isInteger(fault) && fault >= 400 && fault <= 599;
  const { slowMs } = (fault ?? {}) as { readonly slowMs?: unknown };
  return typeof slowMs === 'number' && slowMs >= 0;
};

/** Until whoever asked gives up. */
export const hang = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_resolve, reject) => {
    const stop = (): void => reject(signal?.reason as Error);
    if (signal?.aborted === true) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });

const realTimer: Pick<Clock, 'timer'> = {
  timer(ms, due): CancelTimer {
    const timeout = setTimeout(due, ms);
    return () => clearTimeout(timeout);
  },
};
