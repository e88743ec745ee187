import { validate } from '#adapters/schemas';
import { hostileCase } from './hostile-cases.ts';

/** For one check, for the values of its schema, and for the patterns in it: see docs/PROMISES.md. */
const stepsMax = 250_000 + 100_000 + 160_000;

export type JudgedCase = {
  readonly way: string;
  readonly steps: number;
  readonly isRefused: boolean;
  readonly problem: string | null;
};

/** Checks the case twice, each time with a schema that was not prepared before. */
export const judgeHostileCase = (seed: number): JudgedCase => {
  const { way, schema, value } = hostileCase(seed);
  const [first, second] = [schema, structuredClone(schema)].map((one) => {
    const shared = { left: 1e9 };
    const problems = validate(one, value, shared);
    return { problems, steps: 1e9 - shared.left };
  });
  const { problems, steps } = first!;
  const isRefused = problems.some((problem) => problem.includes('too costly'));
  const differs = JSON.stringify(first) !== JSON.stringify(second);
  return {
    way,
    steps,
    isRefused,
    problem: differs
      ? `seed ${seed} (${way}): the second check differs from the first`
      : steps > stepsMax
        ? `seed ${seed} (${way}): ${steps} steps`
        : null,
  };
};
