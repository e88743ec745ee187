// Explains why something is not a usable JSON Schema.
//
//   schema-passed-never-throws. A schema that passes does not make the validator throw.
//   schema-fetches-nothing. Every `$ref` leads to a location in the schema itself.
//   schema-bounds-before-recursion. Any depth, size or cycle gets an answer.
import { isObject } from '#base';
import { checks, inPlace, nestings } from './keywords.ts';
import { childPointer, measureSchema, problemAt } from './schema-bounds.ts';
import { SchemaIndex } from './schema-index.ts';
import type { SchemaObject } from './schema-index.ts';
import { describeValue } from './check-run.ts';

/** A JSON pointer and what is wrong there; null when the schema is valid and every pattern in it can be checked. */
export const schemaProblem = (schema: unknown): string | null => {
  const { problem, unchecked } = scanSchema(schema);
  if (problem !== null || unchecked.length === 0) return problem;
  const more = unchecked.length === 1 ? '' : ` (The schema has ${unchecked.length} such patterns.)`;
  return `${unchecked[0]!} It cannot be checked in bounded time: rewrite it, or remove it.${more}`;
};

/** The same for the schema of a tool, which checks its arguments itself: a pattern that cannot be checked is left to it. */
export const toolSchemaProblem = (schema: unknown): string | null => scanSchema(schema, { compiles: false }).problem;

/** The patterns that are left to a tool: where each is, and why. */
export const uncheckedPatterns = (schema: unknown): readonly string[] => scanSchema(schema).unchecked;

type ScanResult = { readonly problem: string | null; readonly unchecked: readonly string[] };

const scanSchema = (schema: unknown, { compiles } = { compiles: true }): ScanResult => {
  const size = measureSchema(schema);
  if ('problem' in size) return { ...size, unchecked: [] };
  const scan = new SchemaScan(schema, compiles);
  return { problem: scan.problem(), unchecked: scan.unchecked };
};

class SchemaScan {
  readonly #open: { readonly schema: unknown; readonly path: string }[] = [];
  readonly #seen = new Set<SchemaObject>();
  /** Edges between schemas that apply to the same value. */
  readonly #sameValue = new Map<SchemaObject, SchemaObject[]>();
  readonly #index: SchemaIndex;
  /** Whether patterns are compiled, to find those that cannot be. */
  readonly #compiles: boolean;
  readonly unchecked: string[] = [];

  constructor(schema: unknown, compiles: boolean) {
    this.#compiles = compiles;
    this.#open.push({ schema, path: '' });
    this.#index = new SchemaIndex(schema);
  }

  problem(): string | null {
    for (const { schema, path } of this.#open) {
      const wrong = this.#schema(schema, path);
      if (wrong !== null) return wrong;
    }
    if (this.#index.problem !== null) return this.#index.problem;
    return hasCycle(this.#sameValue) ? 'It refers to itself endlessly, so no value can be checked.' : null;
  }

  #schema(schema: unknown, path: string): string | null {
    if (typeof schema === 'boolean') return null;
    if (!isObject(schema))
      return problemAt(path, `expected a schema (an object, true or false), got ${describeValue(schema)}`);
    if (this.#seen.has(schema)) return null;
    this.#seen.add(schema);
    for (const [key, value] of Object.entries(schema)) {
      if (value === undefined) continue;
      const wrong = checks.get(key)?.(value) ?? (key === 'pattern' ? this.#index.syntaxProblem(value as string) : null);
      if (wrong !== null) return problemAt(childPointer(path, key), wrong);
      const nested = this.#nested(schema, key, childPointer(path, key));
      if (nested !== null) return nested;
    }
    if (typeof schema['pattern'] === 'string') this.#checkPattern(schema['pattern'], childPointer(path, 'pattern'));
    return schema['$ref'] === undefined || this.#index.problem !== null
      ? null
      : this.#follow(schema, childPointer(path, '$ref'));
  }

  /** Queues the schemas below a keyword. */
  #nested(schema: SchemaObject, key: string, path: string): string | null {
    const nesting = nestings.get(key);
    if (nesting === undefined) return null;
    const value = schema[key];
    const isList = nesting === 'list' || (nesting === 'schema-or-list' && Array.isArray(value));
    if (isList && (!Array.isArray(value) || (value.length === 0 && nesting === 'list')))
      return problemAt(path, `expected a list of schemas, got ${describeValue(value)}`);
    if (!isList && !nesting.startsWith('map')) {
      this.#add(schema, key, value, path);
      return null;
    }
    if (!isList && !isObject(value))
      return problemAt(path, `expected an object of schemas, got ${describeValue(value)}`);
    for (const [name, part] of Object.entries(value as object)) {
      const wrong = key === 'patternProperties' ? this.#index.syntaxProblem(name) : null;
      if (wrong !== null) return problemAt(childPointer(path, name), wrong);
      if (key === 'patternProperties') this.#checkPattern(name, childPointer(path, name));
      const isNames = nesting === 'map-or-names' && Array.isArray(part);
      if (isNames && part.some((one) => typeof one !== 'string'))
        return problemAt(childPointer(path, name), 'expected a list of names, or a schema');
      if (!isNames) this.#add(schema, key, part, childPointer(path, name));
    }
    return null;
  }

  #checkPattern(source: string, path: string): void {
    if (!this.#compiles) return;
    const pattern = this.#index.pattern(source);
    if ('refused' in pattern) this.unchecked.push(problemAt(path, `the pattern ${pattern.refused}`));
  }

  #add(schema: SchemaObject, key: string, part: unknown, path: string): void {
    this.#open.push({ schema: part, path });
    if (inPlace.has(key)) this.#link(schema, part);
  }

  #follow(schema: SchemaObject, path: string): string | null {
    const ref = schema['$ref'] as string;
    const target = this.#index.target(schema);
    if (target === undefined)
      return problemAt(
        path,
        ref.startsWith('#')
          ? `there is no schema at ${describeValue(ref)}`
          : `${describeValue(ref)} is outside this schema, and references are not fetched; put it under \`$defs\``,
      );
    this.#open.push({ schema: target, path });
    this.#link(schema, target);
    return null;
  }

  #link(schema: SchemaObject, other: unknown): void {
    if (!isObject(other)) return;
    const linked = this.#sameValue.get(schema);
    if (linked === undefined) this.#sameValue.set(schema, [other]);
    else linked.push(other);
  }
}

/** Whether the directed graph has a cycle. */
const hasCycle = <T>(edges: ReadonlyMap<T, readonly T[]>): boolean => {
  const done = new Set<T>();
  for (const start of edges.keys()) {
    const path = new Set<T>();
    const stack: { readonly node: T; readonly leave: boolean }[] = [{ node: start, leave: false }];
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      const { node, leave } = next;
      if (leave) {
        path.delete(node);
        done.add(node);
        continue;
      }
      if (path.has(node)) return true;
      if (done.has(node)) continue;
      path.add(node);
      stack.push({ node, leave: true }, ...(edges.get(node) ?? []).map((other) => ({ node: other, leave: false })));
    }
  }
  return false;
};
