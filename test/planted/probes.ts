// Probe points: the places in the production code that planted changes are made at, by name.
//
//   In the source, `// probe: some-name` stands on the line above a statement, a member or an element, or
//   `/* probe: some-name */` right before an expression. A probe point names the largest node that starts right after it.
//
// A name survives what source text does not: files may move, lines may be reworded, and symbols may be renamed.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';
import { root } from './folders.ts';

export type SyntaxNode = { readonly type: string; readonly start: number; readonly end: number };

export type ProbePoint = {
  readonly name: string;
  /** From the root of the repository. */
  readonly file: string;
  /** The whole text of that file. */
  readonly text: string;
  readonly node: SyntaxNode;
};

const marker = /\/[/*] probe: ([a-z0-9-]+)(?: \*\/)?/gu;

let known: ReadonlyMap<string, ProbePoint> | undefined;

/** By name, all of `src`. Throws if two have one name, or if one has no node after it. */
export const probePoints = (): ReadonlyMap<string, ProbePoint> => {
  if (known !== undefined) return known;
  const points = new Map<string, ProbePoint>();
  for (const point of sourceFiles().flatMap((file) => pointsIn(file, readFileSync(join(root, file), 'utf8')))) {
    const other = points.get(point.name);
    if (other !== undefined)
      throw new Error(`The probe point "${point.name}" is in ${other.file} and in ${point.file}.`);
    points.set(point.name, point);
  }
  known = points;
  return points;
};

export const probePoint = (name: string): ProbePoint => {
  const point = probePoints().get(name);
  if (point === undefined) throw new Error(`There is no probe point "${name}" in src.`);
  return point;
};

export const pointsIn = (file: string, text: string): readonly ProbePoint[] => {
  const markers = [...text.matchAll(marker)];
  if (markers.length === 0) return [];
  const program = parseSource(file, text);
  return markers.map((match) => {
    const [found, name = ''] = match;
    const node = largestNodeAt(program, nextCode(text, match.index + found.length));
    if (node === undefined)
      throw new Error(`Nothing that could be changed starts after the probe point "${name}" in ${file}.`);
    return { name, file, text, node };
  });
};

export const parseSource = (file: string, text: string): SyntaxNode =>
  parseAst(text, { lang: 'ts', sourceType: 'module' }, file);

/** The part of a node that a path of ESTree's field names leads to: `test.left`, `arguments.0`. */
export const partOf = (node: SyntaxNode, path: string): SyntaxNode => {
  if (path === 'whole') return node;
  const part = path
    .split('.')
    .reduce<unknown>((at, key) => (at as Record<string, unknown> | null | undefined)?.[key], node);
  if (!isNode(part)) throw new Error(`A ${node.type} has no part "${path}".`);
  return part;
};

/** All nodes, parents before their children. */
export function* walk(node: SyntaxNode): Generator<SyntaxNode> {
  yield node;
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) yield* walk(child);
  }
}

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value && 'end' in value;

const largestNodeAt = (program: SyntaxNode, start: number): SyntaxNode | undefined => {
  for (const node of walk(program)) if (node.type !== 'Program' && node.start === start) return node;
  return undefined;
};

/** The next position that holds code: after white space and other comments. */
const nextCode = (text: string, from: number): number => {
  const skipped = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/uy;
  skipped.lastIndex = from;
  return from + (skipped.exec(text)?.[0].length ?? 0);
};

export const sourceFiles = (): readonly string[] =>
  readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length));
