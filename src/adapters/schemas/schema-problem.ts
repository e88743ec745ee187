// Explains why something is not a usable JSON Schema.
//
//   S1. A schema that passes does not make the validator throw.
//   S2. Nothing is fetched: every `$ref` leads to a location in the schema itself.
//   S3. No recursion before the bounds are checked: any depth, size or cycle gets an answer.
import { isObject } from '#base';
import { dereference } from '@cfworker/json-schema';
import { hasCycle } from './has-cycle.ts';
import { checks, inPlace, nestings, pattern } from './keywords.ts';
import { truncateChars, describeValue } from './values.ts';

const depthMax = 100;
const valuesMax = 50_000;

/** A JSON pointer and what is wrong there; null when the schema is valid. */
export const schemaProblem = (schema: unknown): string | null =>
  boundsProblem(schema) ?? new SchemaScan(schema).problem();

const boundsProblem = (schema: unknown): string | null => {
  let values = 0;
  const open = [{ value: schema, path: '', depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, path, depth } = next;
    if (++values + open.length > valuesMax) return `It contains more than ${valuesMax} values.`;
    if (depth > depthMax) return `It is nested deeper than ${depthMax} levels.`;
    if (['function', 'symbol', 'bigint'].includes(typeof value))
      return problemAt(path, `a ${typeof value} is not JSON`);
    if (typeof value !== 'object' || value === null) continue;
    if (!isPlain(value)) return problemAt(path, 'a class instance is not JSON');
    for (const [key, part] of Object.entries(value))
      open.push({ value: part as unknown, path: childPointer(path, key), depth: depth + 1 });
  }
  return null;
};

/** Also true for an object of another realm. */
const isPlain = (value: object): boolean => {
  const above = Object.getPrototypeOf(value) as object | null;
  return Array.isArray(value) || above === null || Object.getPrototypeOf(above) === null;
};

type Schema = Readonly<Record<string, unknown>> & { readonly __absolute_ref__?: string };

class SchemaScan {
  readonly #open: { readonly schema: unknown; readonly path: string }[] = [];
  readonly #seen = new Set<Schema>();
  /** Edges between schemas that apply to the same value. */
  readonly #sameValue = new Map<Schema, Schema[]>();
  #targets: Record<string, unknown> = {};
  #referenceProblem: string | null = null;

  constructor(schema: unknown) {
    // A copy, because `dereference` writes into it.
    const copy = structuredClone(schema);
    this.#open.push({ schema: copy, path: '' });
    try {
      this.#targets = dereference(copy as Parameters<typeof dereference>[0]);
    } catch (error) {
      this.#referenceProblem = `An \`$id\` or \`$ref\` is invalid: ${truncateChars((error as Error).message)}`;
    }
  }

  problem(): string | null {
    for (const { schema, path } of this.#open) {
      const wrong = this.#schema(schema, path);
      if (wrong !== null) return wrong;
    }
    if (this.#referenceProblem !== null) return this.#referenceProblem;
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
      const wrong = checks.get(key)?.(value) ?? null;
      if (wrong !== null) return problemAt(childPointer(path, key), wrong);
      const nested = this.#nested(schema, key, childPointer(path, key));
      if (nested !== null) return nested;
    }
    return schema['$ref'] === undefined || this.#referenceProblem !== null
      ? null
      : this.#follow(schema, childPointer(path, '$ref'));
  }

  /** Queues the schemas below a keyword. */
  #nested(schema: Schema, key: string, path: string): string | null {
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
      const wrong = key === 'patternProperties' ? pattern(name) : null;
      if (wrong !== null) return problemAt(childPointer(path, name), wrong);
      const isNames = nesting === 'map-or-names' && Array.isArray(part);
      if (isNames && part.some((one) => typeof one !== 'string'))
        return problemAt(childPointer(path, name), 'expected a list of names, or a schema');
      if (!isNames) this.#add(schema, key, part, childPointer(path, name));
    }
    return null;
  }

  #add(schema: Schema, key: string, part: unknown, path: string): void {
    this.#open.push({ schema: part, path });
    if (inPlace.has(key)) this.#link(schema, part);
  }

  #follow(schema: Schema, path: string): string | null {
    const ref = schema['$ref'] as string;
    const target = this.#targets[schema.__absolute_ref__ ?? ref];
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

  #link(schema: Schema, other: unknown): void {
    if (!isObject(other)) return;
    const linked = this.#sameValue.get(schema);
    if (linked === undefined) this.#sameValue.set(schema, [other]);
    else linked.push(other);
  }
}

const childPointer = (path: string, key: string): string =>
  `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;

const problemAt = (path: string, text: string): string => `${truncateChars(path)}${path === '' ? '' : ': '}${text}.`;
