// Checks options and other values in code before they are used. Errors name the option, the value and what was expected.
import { CloisterError, isObject } from '#base';
import type { RunId } from '#base';
import { problemText } from './problem-text.ts';
import { problemsIn } from './read-shape.ts';
import type { ShapePath, ShapeProblem } from './read-shape.ts';
import { boolean, listOf, object, pattern, string, valueOf } from './shape.ts';
import type { Shape, ShapeFields } from './shape.ts';

type Kind = keyof typeof kinds;

const kinds = {
  text: string(),
  name: pattern('\\S', 'a name'),
  flag: boolean(),
  texts: { ...listOf(string()), expected: 'a list of strings' },
  signal: valueOf<AbortSignal>('an AbortSignal', (value) => value instanceof AbortSignal),
  /** Checked where it is used. */
  any: valueOf('a value', () => true),
  options: valueOf<object>('an object of options', isObject),
} as const;

/** Throws `options_invalid`. */
export const checkOptionType = (field: string, value: unknown, kind: Kind | Shape): void =>
  refuse(problemsIn(typeof kind === 'string' ? kinds[kind] : kind, value, { inCode: true }), [field]);

const refuse = ([problem]: readonly ShapeProblem[], at: ShapePath): void => {
  if (problem === undefined) return;
  const text = problemText({ ...problem, path: [...at, ...problem.path] }, 'option', 'options');
  throw new CloisterError('options_invalid', text);
};

export type OptionFields = Readonly<Record<string, Kind | Shape>>;

/** All options are optional. A misspelt one, such as a budget, would be ignored silently. Throws `options_invalid`. */
export const checkOptions = (options: unknown, fields: OptionFields): void => {
  const shapes = Object.entries(fields).map(([field, kind]) => [field, typeof kind === 'string' ? kinds[kind] : kind]);
  refuse(problemsIn(optionsShape(Object.fromEntries(shapes) as ShapeFields), options, { inCode: true }), []);
};

/** An object of options, all of them optional. */
export const optionsShape = (fields: ShapeFields): Shape => ({
  ...object({}, fields),
  expected: 'an object of options',
});

/** Checks a run id from a caller. Throws `options_invalid`. */
export const parseRunId = (run: string): RunId => {
  checkOptionType('run', run, 'name');
  return run as RunId;
};

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
