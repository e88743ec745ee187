// The seed of all random tests. It is fixed unless a lane sets another one, so that a failure is due to the change that was made.

/** `npm test` uses this seed. `vitest.config.ts` reads `TEST_SEED=fresh`. */
export const fixedSeed = 20_261_115;

/** `path`: repeats one case of a property instead of running all of them. */
export const testSeed = (): { readonly seed: number; readonly path?: string } => {
  const [seed, path] = [process.env['TEST_SEED'], process.env['TEST_PATH']];
  return {
    seed: seed === undefined ? fixedSeed : Number(seed),
    ...(path === undefined ? {} : { path }),
  };
};

/**
 * How many of so many cases to run: with the fixed seed a third, because more of the same would find nothing new; all of them
 * in the lanes with fresh seeds.
 */
export const testRuns = (all: number): number => (process.env['TEST_SEED'] === undefined ? Math.ceil(all / 3) : all);

export type FailedCase = {
  readonly seed: number;
  readonly path: string | null;
  /** Relative to the repository. */
  readonly file: string;
  /** The full title of the test. */
  readonly title?: string;
};

/** The command that repeats one failed case. */
export const repeatCommand = ({ seed, path, file, title }: FailedCase): string => {
  const variables = [`TEST_SEED=${seed}`, ...(path === null ? [] : [`TEST_PATH=${path}`])];
  // The runner takes a regular expression.
  const name = title?.replaceAll(/[^\p{L}\p{N} ]/gu, '.');
  return [...variables, 'npm run test:run --', file, ...(name === undefined ? [] : ['-t', `"${name}"`])].join(' ');
};
