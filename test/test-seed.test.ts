// Random tests use one seed, and a failure says how to repeat it.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { repeatCommand, testSeed } from './test-seed.ts';

test('property tests use the seed of the run', () => {
  expect(fc.readConfigureGlobal().seed).toBe(testSeed().seed);
});

describe('a failing property', () => {
  test('shows its seed, its path and the command that repeats it (once)', async () => {
    const failing = (run: () => unknown): Promise<Error> => (async () => run())().then(assertNever, (error) => error);
    const property = fc.property(fc.nat(), (n) => n < 10);
    const command =
      /^Repeat: TEST_SEED=7 TEST_PATH=(?<path>\S+) npm run test:run -- test\/test-seed\.test\.ts -t "(?<title>.*)"$/mu;
    const errors = [
      await failing(() => fc.assert(property, { seed: 7 })),
      await failing(() =>
        fc.assert(
          fc.asyncProperty(fc.nat(), async (n) => n < 10),
          { seed: 7 },
        ),
      ),
    ];
    for (const { message } of errors) {
      const { path, title } = command.exec(message)!.groups!;
      expect(message).toContain(`{ seed: 7, path: "${path}"`);
      expect(title).toBe('a failing property . shows its seed. its path and the command that repeats it .once.');
      expect(await failing(() => fc.assert(property, { seed: 7, path: path! }))).toBeInstanceOf(Error);
    }
  });

  test('shows the error that it failed with', () => {
    const cause = new Error('The reason.');
    const fails = (): void =>
      fc.assert(
        fc.property(fc.nat(), () => {
          throw cause;
        }),
      );
    expect(fails).toThrow(expect.objectContaining({ cause }));
  });
});

const assertNever = (): never => {
  throw new Error('The property held.');
};

test('a whole file is repeated without a path', () => {
  expect(repeatCommand({ seed: 7, path: null, file: 'test/a.test.ts' })).toBe(
    'TEST_SEED=7 npm run test:run -- test/a.test.ts',
  );
});
