// Reads the keys of an agent or team file by their shape. Problems have lines, and show what was written.
import type { JsonObject } from '#base';
import { readShape, showValue } from '#base/shapes';
import type { ObjectForm, Shape, ShapePath, ShapeProblem } from '#base/shapes';
import type { Problem } from '#contracts';

/** Where keys are written, for reporting problems. */
export type FileLocation = {
  readonly file: string;
  /** The line of a key, from 1; JSON has no lines. */
  line?(path: ShapePath): number;
  /** The line to report for a missing key. */
  readonly startLine?: number;
  /** The path of keys that contains it, such as `['defaults']`. */
  readonly under?: readonly string[];
};

export type ParsePorts = {
  /** Why a value is not a valid JSON Schema; null if it is one. */
  checkSchema?(schema: JsonObject): string | null;
};

export type ReportKeyProblem = (path: ShapePath, message: string, suggest?: () => string | null) => void;

export type ReadKeys = {
  /** What could be read. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Every key, with its path as written and the path under which it is stored. */
  readonly keys: readonly { readonly path: ShapePath; readonly into: ShapePath }[];
  /** For what no shape describes. */
  readonly report: ReportKeyProblem;
  /** The number of problems, of which only the first hundred are listed. */
  count(): number;
  problems(): readonly Problem[];
};

const problemsMax = 100;

/** `hints`: keys that people try here, and where they belong. */
export const readKeys = (
  shape: Shape & ObjectForm,
  value: JsonObject,
  where: FileLocation,
  ports: ParsePorts & { readonly hints?: ReadonlyMap<string, string> } = {},
): ReadKeys => {
  const problems: Problem[] = [];
  const keys: { path: ShapePath; into: ShapePath }[] = [];
  let found = 0;
  const add = (path: ShapePath, message: string, suggest: () => string | null, line?: number): void => {
    found += 1;
    if (found > problemsMax) return;
    const key = [...(where.under ?? []), ...path].join('.');
    problems.push({ file: where.file, line: line ?? where.line?.(path) ?? null, key, message, nearest: suggest() });
  };
  const none = (): null => null;
  const report = (problem: ShapeProblem): void => {
    const { path, kind } = problem;
    const key = String(path.at(-1));
    if (kind === 'missing' && path.length === 1) return add(path, missingText(problem), none, where.startLine);
    if (kind !== 'unknown') return add(path, messageOf(problem, where), problem.nearest);
    const shown = key.length > 80 ? `${key.slice(0, 80)}…` : key;
    const hint = path.length === 1 ? ports.hints?.get(key) : undefined;
    if (hint !== undefined) return add(path, `Unknown key \`${shown}\`. ${hint}`, none);
    if (path.length > 1 && Object.hasOwn(shape.fields, key))
      return add(path, `\`${shown}\` belongs at the top level, not in \`${path.slice(0, -1).join('.')}\`.`, () => key);
    return add(path, `Unknown key \`${shown}\`.`, problem.nearest);
  };
  const values = (readShape(shape, value, {
    report,
    recordKey: (path, into) => void keys.push({ path, into }),
    checkSchema: (schema) => ports.checkSchema?.(schema) ?? null,
  }) ?? {}) as Readonly<Record<string, unknown>>;
  const allProblems = (): readonly Problem[] => {
    const all = problems.toSorted((one, other) => (one.line ?? 0) - (other.line ?? 0));
    if (found <= problemsMax) return all;
    const message = `There are ${found - problemsMax} more problems.`;
    return [...all, { file: where.file, line: null, key: null, message, nearest: null }];
  };
  return {
    values,
    keys,
    report: (path, message, suggest = none) => add(path, message, suggest),
    count: () => found,
    problems: allProblems,
  };
};

const missingText = ({ path, about = '' }: ShapeProblem): string =>
  `The key \`${path.at(-1)}\` is missing${about === '' ? '.' : `: ${about.charAt(0).toLowerCase()}${about.slice(1)}`}`;

const messageOf = ({ kind, path, expected, value, other = [] }: ShapeProblem, where: FileLocation): string => {
  switch (kind) {
    case 'missing':
      return `The key \`${path.at(-1)}\` is missing.`;
    case 'few':
      return `Expected ${expected}; omit the key for the default.`;
    case 'twice':
      return `${quoted(value)} is listed twice.`;
    case 'conflict': {
      const line = where.line?.(other);
      const place = `\`${other.join('.')}\`${line === undefined ? '' : ` on line ${line}`}`;
      return `Here it is ${quoted(value)}, but ${place} says ${expected}: keep one.`;
    }
    case 'rule':
      return expected;
    default:
      return `Expected ${expected}; got ${quoted(value)}.`;
  }
};

/** In YAML, an object is a block of keys. */
export const quoted = (value: unknown): string => {
  if (value === null) return 'nothing';
  return typeof value === 'object' && !Array.isArray(value) ? 'a block of keys' : showValue(value);
};
