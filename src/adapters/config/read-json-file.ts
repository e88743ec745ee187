// Reads a JSON file of the operator by its shape. Problems have lines, and never show a value, because it may be a secret.
import type { Json } from '#base';
import { formatPath } from '#base/shapes';
import type { ShapePath, ShapeProblem, ShapeReader } from '#base/shapes';
import type { Problem } from '#contracts';
import { parseJson } from './parse-json.ts';

export type JsonFile = ShapeReader & {
  /** Undefined if the text is not JSON. */
  readonly value: Json | undefined;
  readonly problems: readonly Problem[];
  /** Adds a problem that no shape describes. */
  readonly add: (path: ShapePath, message: string, nearest?: string | null) => undefined;
};

export const readJsonFile = (file: string, text: string): JsonFile => {
  const problems: Problem[] = [];
  const document = parseJson(text);
  if ('problem' in document) {
    const { line, message } = document.problem;
    problems.push({ file, line, key: null, message, nearest: null });
  }
  const add: JsonFile['add'] = (path, message, nearest = null) => {
    const line = 'problem' in document ? null : document.line(path);
    problems.push({ file, line, key: path.length === 0 ? null : formatPath(path), message, nearest });
  };
  return {
    value: 'problem' in document ? undefined : document.value,
    problems,
    add,
    report: (problem) => add(problem.path, messageOf(problem), problem.nearest()),
  };
};

const messageOf = ({ kind, expected }: ShapeProblem): string => {
  switch (kind) {
    case 'unknown':
      return `Unknown key; expected ${expected}.`;
    case 'missing':
      return `Missing; expected ${expected}.`;
    case 'rule':
      return expected;
    default:
      return `Expected ${expected}.`;
  }
};
