// Checks values in code against their shapes.
import type { CloisterError } from '#base';
import { problemText, problemsIn } from '#base/shapes';
import type { Shape } from '#base/shapes';

/** Throws. */
export type RejectField = (field: string, expected: string) => never;

/** Throws for the first problem. `say`: makes the error of a text. `whole`: how the value itself is called. */
export const checkShape = (
  shape: Shape,
  value: unknown,
  say: (text: string) => CloisterError,
  whole?: string,
): void => {
  const [problem] = problemsIn(shape, value, { inCode: true });
  if (problem !== undefined) throw say(problemText(problem, 'option', whole));
};
