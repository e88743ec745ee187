// Draws random values from a JSON Schema. Most of them are valid; use a validator to be sure.
import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { Validate } from '#contracts';
import { Rng } from './rng.ts';

/** Below this level, only required properties are drawn. */
const depthMax = 4;
const triesMax = 12;

export const sampleSchema = (schema: JsonObject, rng: Rng): Json => new Sampler(schema, rng).sample(schema, 0);

/** A valid value, the same for the same seed; undefined if none was found. */
export const validSample = (schema: JsonObject, seed: string, validate: Validate): Json | undefined => {
  for (let attempt = 0; attempt < triesMax; attempt++) {
    const value = sampleSchema(schema, new Rng(`${seed} ${attempt}`));
    if (fits(schema, value, validate)) return value;
  }
  return undefined;
};

const fits = (schema: JsonObject, value: Json, validate: Validate): boolean => {
  try {
    return validate(schema, value).length === 0;
  } catch {
    return false;
  }
};

class Sampler {
  readonly #root: JsonObject;
  readonly #rng: Rng;

  constructor(root: JsonObject, rng: Rng) {
    this.#root = root;
    this.#rng = rng;
  }

  sample(schema: Json | undefined, depth: number): Json {
    if (!isObject(schema)) return this.#rng.words();
    const one = this.#merged(schema, depth);
    if (one['const'] !== undefined) return one['const'];
    const listed = asList(one['enum']);
    if (listed.length > 0) return this.#rng.pick(listed);
    switch (this.#typeOf(one)) {
      case 'object':
        return this.#object(one, depth);
      case 'array':
        return this.#array(one, depth);
      case 'integer':
        return Math.round(this.#number(one, true));
      case 'number':
        return this.#number(one, false);
      case 'boolean':
        return this.#rng.percent(50);
      case 'null':
        return null;
      default:
        return this.#text(one);
    }
  }

  /** Merges in `$ref`, `allOf`, and one choice each of `anyOf` and `oneOf`. */
  #merged(schema: JsonObject, depth: number): JsonObject {
    if (depth > depthMax * 4) return schema;
    const { $ref, allOf, anyOf, oneOf, ...rest } = schema;
    const parts: Json[] = [];
    if (typeof $ref === 'string') parts.push(this.#resolve($ref));
    parts.push(...asList(allOf));
    for (const choice of [asList(anyOf), asList(oneOf)]) if (choice.length > 0) parts.push(this.#rng.pick(choice));
    return parts.reduce<JsonObject>(
      (whole, part) => (isObject(part) ? mergeSchemas(whole, this.#merged(part, depth + 4)) : whole),
      rest,
    );
  }

  /** Resolves references within the schema only; nothing is fetched. */
  #resolve(ref: string): Json {
    if (ref === '#') return this.#root;
    if (!ref.startsWith('#/')) return {};
    let place: Json | undefined = this.#root;
    for (const part of ref.slice(2).split('/')) {
      const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
      place = Array.isArray(place) ? (place as readonly Json[])[Number(key)] : isObject(place) ? place[key] : undefined;
    }
    return place ?? {};
  }

  #typeOf(schema: JsonObject): string {
    const { type } = schema;
    if (typeof type === 'string') return type;
    const types = asList(type).filter((name) => typeof name === 'string');
    if (types.length > 0) return this.#rng.pick(types);
    if (schema['properties'] !== undefined || schema['required'] !== undefined) return 'object';
    if (schema['items'] !== undefined || schema['prefixItems'] !== undefined) return 'array';
    return schema['minimum'] !== undefined || schema['maximum'] !== undefined ? 'number' : 'string';
  }

  #object(schema: JsonObject, depth: number): Json {
    const { properties, required, additionalProperties, minProperties } = schema;
    const known = isObject(properties) ? properties : {};
    const needed = asList(required).filter((name) => typeof name === 'string');
    const value: Record<string, Json> = {};
    for (const [name, part] of Object.entries(known))
      if (needed.includes(name) || (depth < depthMax && this.#rng.percent(50)))
        value[name] = this.sample(part, depth + 1);
    for (const name of needed)
      if (!Object.hasOwn(value, name))
        value[name] = this.sample(isObject(additionalProperties) ? additionalProperties : {}, depth + 1);
    const least = typeof minProperties === 'number' ? minProperties : 0;
    for (let nth = 0; Object.keys(value).length < least && nth < 20; nth++)
      value[`more_${nth}`] = this.sample(isObject(additionalProperties) ? additionalProperties : {}, depth + 1);
    return value;
  }

  #array(schema: JsonObject, depth: number): Json {
    const { items, prefixItems, minItems, maxItems } = schema;
    const first = asList(prefixItems ?? (Array.isArray(items) ? items : undefined));
    const least = typeof minItems === 'number' ? minItems : 0;
    const most = typeof maxItems === 'number' ? maxItems : least + 2;
    const length = depth >= depthMax ? least : least + this.#rng.below(Math.max(1, Math.min(3, most - least + 1)));
    return Array.from({ length }, (_, index) => this.sample(first[index] ?? items, depth + 1));
  }

  #number(schema: JsonObject, whole: boolean): number {
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
    const gap = whole ? 1 : 0.5;
    const low =
      typeof exclusiveMinimum === 'number' ? exclusiveMinimum + gap : typeof minimum === 'number' ? minimum : undefined;
    const high =
      typeof exclusiveMaximum === 'number' ? exclusiveMaximum - gap : typeof maximum === 'number' ? maximum : undefined;
    const from = low ?? (high === undefined ? 0 : high - 100);
    const to = high ?? from + 100;
    const step = typeof multipleOf === 'number' ? multipleOf : whole ? 1 : 0.5;
    const first = Math.ceil(from / step);
    const steps = Math.max(1, Math.floor(to / step) - first + 1);
    return (first + this.#rng.below(Math.min(steps, 1_000_000))) * step;
  }

  #text(schema: JsonObject): string {
    const { minLength, maxLength, format, pattern } = schema;
    if (typeof format === 'string' && formats[format] !== undefined) return formats[format](this.#rng);
    const text = typeof pattern === 'string' ? this.#textMatching(pattern) : this.#rng.words().toWellFormed();
    const least = typeof minLength === 'number' ? minLength : 0;
    const long = text.length < least ? text.padEnd(least, this.#rng.hex()) : text;
    return typeof maxLength === 'number' ? [...long].slice(0, maxLength).join('') : long;
  }

  /** A text of a common kind that matches the pattern, if there is one. */
  #textMatching(pattern: string): string {
    const hex = this.#rng.hex();
    const number = String(this.#rng.below(10_000));
    const kinds = [hex, `a${hex}`, number, `A${number}`, 'a', '1', '2026-01-01', `${number}.${number}`, `a@${hex}.org`];
    try {
      const test = new RegExp(pattern, 'u');
      return kinds.find((text) => test.test(text)) ?? hex;
    } catch {
      return hex;
    }
  }
}

const formats: Readonly<Record<string, (rng: Rng) => string>> = {
  date: (rng) => `20${10 + rng.below(80)}-0${1 + rng.below(9)}-1${rng.below(10)}`,
  time: (rng) => `1${rng.below(10)}:0${rng.below(10)}:00Z`,
  'date-time': (rng) => `20${10 + rng.below(80)}-0${1 + rng.below(9)}-11T1${rng.below(10)}:00:00Z`,
  email: (rng) => `${rng.hex()}@example.org`,
  uri: (rng) => `https://example.org/${rng.hex()}`,
  url: (rng) => `https://example.org/${rng.hex()}`,
  hostname: (rng) => `${rng.hex()}.example.org`,
  uuid: (rng) =>
    `${rng.hex().slice(0, 8)}-${rng.hex().slice(0, 4)}-4${rng.hex().slice(0, 3)}-a${rng.hex().slice(0, 3)}-${rng.hex()}`,
  ipv4: (rng) => `10.0.${rng.below(256)}.${rng.below(256)}`,
};

const asList = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : []);

/** Combines properties and required names; for all other keywords the second schema wins. */
const mergeSchemas = (one: JsonObject, other: JsonObject): JsonObject => ({
  ...one,
  ...other,
  ...(isObject(one['properties']) || isObject(other['properties'])
    ? { properties: { ...(one['properties'] as JsonObject), ...(other['properties'] as JsonObject) } }
    : {}),
  ...(one['required'] === undefined && other['required'] === undefined
    ? {}
    : { required: [...asList(one['required']), ...asList(other['required'])] }),
});
