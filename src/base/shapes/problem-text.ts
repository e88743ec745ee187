// Problems in words, for every way in.
import type { ShapePath, ShapeProblem } from './read-shape.ts';
import { showValue } from './show-value.ts';

/** `budget.usd`, `history[2].by`. */
export const formatPath = (path: ShapePath): string =>
  path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`))
    .join('')
    .replace(/^\./u, '');

/** One sentence that names the path, for a value that somebody sends or writes in code. `what`: how its keys are called. */
export const problemText = (problem: ShapeProblem, what: string, whole = 'The value'): string => {
  const { kind, expected, value, path } = problem;
  const where = (path.length === 0 ? whole : formatPath(path)).slice(0, 200);
  switch (kind) {
    case 'unknown': {
      const near = problem.nearest();
      if (near !== null) return `${where}: unknown ${what}. Did you mean ${near}?`;
      return `${where}: unknown ${what}. ${expected === '' ? 'None is allowed here.' : `Known: ${expected}.`}`;
    }
    case 'rule':
      return `${where}: ${expected}`;
    case 'few':
      return `${where}: expected ${expected}.`;
    case 'twice':
      return `${where}: ${showValue(value)} is listed twice.`;
    case 'conflict':
      return `${where}: here it is ${showValue(value)}, but ${formatPath(problem.other ?? [])} says ${expected}.`;
    case 'missing':
    case 'wrong':
      return `${where}: expected ${expected}; got ${showValue(value)}.`;
  }
};
