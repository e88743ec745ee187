// Command-line options of the deep lane.

export type Options = {
  readonly minutes: number;
  /** Names of trials; empty means all. */
  readonly only: readonly string[];
  readonly seed: number;
  readonly case: string | null;
  readonly withoutStrace: boolean;
  /** The checkout whose sources are tested; null means this one. */
  readonly source: string | null;
};

export const usage = `npm run test:deep -- [--minutes N] [--only <trial>[,<trial>]] [--seed N] [--case <case>]
                      [--without-strace] [--source <folder>]

  --minutes N        time limit; default 5
  --only <trial>     run only these trials
  --seed N           random seed; default: a new one, which is printed
  --case <case>      run one case of a trial, as named in a failure
  --without-strace   skip trials that need strace, without counting that as a failure
  --source <folder>  test the sources of another checkout`;

/** Returns an error message when the options are invalid. */
export const parseOptions = (args: readonly string[], trials: readonly string[]): Options | string => {
  const given = new Map<string, string>();
  for (let at = 0; at < args.length; at++) {
    const [name = '', inline] = args[at]!.split(/=(.*)/su);
    if (name === '--without-strace' && inline === undefined) given.set(name, '');
    else if (!valued.includes(name)) return `Unknown option "${args[at]}".`;
    else {
      const value = inline ?? args[++at];
      if (value === undefined || value === '') return `${name} needs a value.`;
      given.set(name, value);
    }
  }
  const [minutes, seed] = [Number(given.get('--minutes') ?? 5), Number(given.get('--seed') ?? newSeed())];
  const only = given.get('--only')?.split(',') ?? [];
  const unknown = only.find((name) => !trials.includes(name));
  if (unknown !== undefined) return `Unknown trial "${unknown}". Available: ${trials.join(', ')}.`;
  if (!(minutes > 0)) return `--minutes must be a number > 0; got "${given.get('--minutes')}".`;
  if (!Number.isSafeInteger(seed) || seed < 0)
    return `--seed must be a whole number ≥ 0; got "${given.get('--seed')}".`;
  if (given.has('--case') && only.length !== 1) return '--case needs --only with exactly one trial.';
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

/** Short enough to type again. */
const newSeed = (): number => Math.floor(Math.random() * 1_000_000);
