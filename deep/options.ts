// The arguments of the deep lane.

export type Options = {
  readonly minutes: number;
  /** Names of trials; empty: all. */
  readonly only: readonly string[];
  readonly seed: number;
  readonly case: string | null;
  readonly withoutStrace: boolean;
  /** The checkout whose sources are tried; null: this one. */
  readonly source: string | null;
};

export const usage = `npm run test:deep -- [--minutes N] [--only <trial>[,<trial>]] [--seed N] [--case <case>]
                      [--without-strace] [--source <folder>]

  --minutes N        how long it may take; default 5
  --only <trial>     only this trial, or these
  --seed N           what is drawn is drawn from this; default: a new one, which is printed
  --case <case>      one case of a trial, as a failure names it
  --without-strace   leave out what needs strace, and do not call that a failure
  --source <folder>  try the sources of another checkout`;

/** A string says what is wrong with them. */
export const parseOptions = (args: readonly string[], trials: readonly string[]): Options | string => {
  const given = new Map<string, string>();
  for (let at = 0; at < args.length; at++) {
    const [name = '', inline] = args[at]!.split(/=(.*)/su);
    if (name === '--without-strace' && inline === undefined) given.set(name, '');
    else if (!valued.includes(name)) return `There is no option "${args[at]}".`;
    else {
      const value = inline ?? args[++at];
      if (value === undefined || value === '') return `${name} needs a value.`;
      given.set(name, value);
    }
  }
  const [minutes, seed] = [Number(given.get('--minutes') ?? 5), Number(given.get('--seed') ?? newSeed())];
  const only = given.get('--only')?.split(',') ?? [];
  const unknown = only.find((name) => !trials.includes(name));
  if (unknown !== undefined) return `There is no trial "${unknown}". There are: ${trials.join(', ')}.`;
  if (!(minutes > 0)) return `--minutes is a number above 0, not "${given.get('--minutes')}".`;
  if (!Number.isSafeInteger(seed) || seed < 0) return `--seed is a whole number from 0, not "${given.get('--seed')}".`;
  if (given.has('--case') && only.length !== 1) return '--case names a case of one trial: say which with --only.';
  return {
    minutes,
    only,
    seed,
    case: given.get('--case') ?? null,
    withoutStrace: given.has('--without-strace'),
    source: given.get('--source') ?? null,
  };
};

const valued = ['--minutes', '--only', '--seed', '--case', '--source'];

/** Short enough to be typed again. */
const newSeed = (): number => Math.floor(Math.random() * 1_000_000);
