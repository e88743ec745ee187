import { validate } from '#adapters/schemas';
import { hostileCase } from './hostile-cases.ts';

/** As documented in docs/PROMISES.md. */
export const checkStepsMax = 250_000;

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
      : steps > checkStepsMax
        ? `seed ${seed} (${way}): ${steps} steps`
        : null,
  };
};
