// Says why something is not a JSON Schema that values can be checked with.
//
//   S1. What passes here does not make the validator throw.
//   S2. Nothing is fetched: every `$ref` leads to a place in the schema itself.
//   S3. No recursion before the bounds are known: any depth, size or circle gets an answer.
import { isObject } from '#base';
import { dereference } from '@cfworker/json-schema';
import { hasCycle } from './has-cycle.ts';
import { checks, inPlace, nestings, pattern } from './keywords.ts';
import { truncateChars, describeValue } from './values.ts';

const depthMax = 100;
const valuesMax = 50_000;

/** The place as a JSON pointer and what is wrong there; null when nothing is. */
export const schemaProblem = (schema: unknown): string | null => boundsProblem(schema) ?? new Look(schema).problem();

const boundsProblem = (schema: unknown): string | null => {
  let values = 0;
  const open = [{ value: schema, path: '', depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, path, depth } = next;
    if (++values + open.length > valuesMax) return `It holds more than ${valuesMax} values.`;
    if (depth > depthMax) return `It is nested deeper than ${depthMax} levels.`;
    if (['function', 'symbol', 'bigint'].includes(typeof value)) return at(path, `a ${typeof value} is not JSON`);
    if (typeof value !== 'object' || value === null) continue;
    if (!isPlain(value)) return at(path, 'an object of a class is not JSON');
    for (const [key, part] of Object.entries(value))
      open.push({ value: part as unknown, path: below(path, key), depth: depth + 1 });
  }
  return null;
};

/** Also when it was made in another realm. */
const isPlain = (value: object): boolean => {
  const above = Object.getPrototypeOf(value) as object | null;
  return Array.isArray(value) || above === null || Object.getPrototypeOf(above) === null;
};

type Schema = Readonly<Record<string, unknown>> & { readonly __absolute_ref__?: string };

class Look {
  readonly #open: { readonly schema: unknown; readonly path: string }[] = [];
  readonly #seen = new Set<Schema>();
  /** Which schemas are about the same value as another. */
  readonly #same = new Map<Schema, Schema[]>();
  #places: Record<string, unknown> = {};
  #misplaced: string | null = null;

  constructor(schema: unknown) {
    // A copy: the places are written into it.
    const copy = structuredClone(schema);
    this.#open.push({ schema: copy, path: '' });
    try {
      this.#places = dereference(copy as Parameters<typeof dereference>[0]);
    } catch (error) {
      this.#misplaced = `An \`$id\` or \`$ref\` cannot be read: ${truncateChars((error as Error).message)}`;
    }
  }

  problem(): string | null {
    for (const { schema, path } of this.#open) {
      const wrong = this.#schema(schema, path);
      if (wrong !== null) return wrong;
    }
    if (this.#misplaced !== null) return this.#misplaced;
    return hasCycle(this.#same) ? 'It refers to itself without end: no value could ever be checked.' : null;
  }

  #schema(schema: unknown, path: string): string | null {
    if (typeof schema === 'boolean') return null;
    if (!isObject(schema))
      return at(path, `expected a schema, as an object, true or false; got ${describeValue(schema)}`);
    if (this.#seen.has(schema)) return null;
    this.#seen.add(schema);
    for (const [key, value] of Object.entries(schema)) {
      if (value === undefined) continue;
      const wrong = checks.get(key)?.(value) ?? null;
      if (wrong !== null) return at(below(path, key), wrong);
      const nested = this.#nested(schema, key, below(path, key));
      if (nested !== null) return nested;
    }
    return schema['$ref'] === undefined || this.#misplaced !== null ? null : this.#follow(schema, below(path, '$ref'));
  }

  /** What lies below a keyword is looked at later. */
  #nested(schema: Schema, key: string, path: string): string | null {
    const nesting = nestings.get(key);
    if (nesting === undefined) return null;
    const value = schema[key];
    const isList = nesting === 'list' || (nesting === 'schema-or-list' && Array.isArray(value));
    if (isList && (!Array.isArray(value) || (value.length === 0 && nesting === 'list')))
      return at(path, `expected a list of schemas, got ${describeValue(value)}`);
    if (!isList && !nesting.startsWith('map')) {
      this.#add(schema, key, value, path);
      return null;
    }
    if (!isList && !isObject(value)) return at(path, `expected names, each with a schema; got ${describeValue(value)}`);
    for (const [name, part] of Object.entries(value as object)) {
      const wrong = key === 'patternProperties' ? pattern(name) : null;
      if (wrong !== null) return at(below(path, name), wrong);
      const isNames = nesting === 'map-or-names' && Array.isArray(part);
      if (isNames && part.some((one) => typeof one !== 'string'))
        return at(below(path, name), 'expected a list of names, or a schema');
      if (!isNames) this.#add(schema, key, part, below(path, name));
    }
    return null;
  }

  #add(schema: Schema, key: string, part: unknown, path: string): void {
    this.#open.push({ schema: part, path });
    if (inPlace.has(key)) this.#link(schema, part);
  }

  #follow(schema: Schema, path: string): string | null {
    const ref = schema['$ref'] as string;
    const target = this.#places[schema.__absolute_ref__ ?? ref];
    if (target === undefined)
      return at(
        path,
        ref.startsWith('#')
          ? `there is no schema at ${describeValue(ref)}`
          : `${describeValue(ref)} is not part of this schema, and nothing is fetched; put it under \`$defs\``,
      );
    this.#open.push({ schema: target, path });
    this.#link(schema, target);
    return null;
  }

  #link(schema: Schema, other: unknown): void {
    if (!isObject(other)) return;
    const known = this.#same.get(schema);
    if (known === undefined) this.#same.set(schema, [other]);
    else known.push(other);
  }
}

const below = (path: string, key: string): string => `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;

const at = (path: string, words: string): string => `${truncateChars(path)}${path === '' ? '' : ': '}${words}.`;
