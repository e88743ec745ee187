// Values that a JSON Schema describes, drawn by chance. Mostly they fit; who needs to know asks a validator.
import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { Validate } from '#contracts';
import { Rng } from './rng.ts';

/** Below so many levels only what is required is drawn. */
const depthMax = 4;
const triesMax = 12;

export const sampleSchema = (schema: JsonObject, chance: Rng): Json => new Sampler(schema, chance).any(schema, 0);

/** One that fits, the same for the same seed; undefined when none was found. */
export const fittingSample = (schema: JsonObject, seed: string, validate: Validate): Json | undefined => {
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
  readonly #chance: Rng;

  constructor(root: JsonObject, chance: Rng) {
    this.#root = root;
    this.#chance = chance;
  }

  any(schema: Json | undefined, depth: number): Json {
    if (!isObject(schema)) return this.#chance.words();
    const one = this.#merged(schema, depth);
    if (one['const'] !== undefined) return one['const'];
    const listed = listOf(one['enum']);
    if (listed.length > 0) return this.#chance.pick(listed);
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
        return this.#chance.percent(50);
      case 'null':
        return null;
      default:
        return this.#text(one);
    }
  }

  /** With what `$ref`, `allOf` and one of `anyOf` or `oneOf` say besides. */
  #merged(schema: JsonObject, depth: number): JsonObject {
    if (depth > depthMax * 4) return schema;
    const { $ref, allOf, anyOf, oneOf, ...rest } = schema;
    const parts: Json[] = [];
    if (typeof $ref === 'string') parts.push(this.#at($ref));
    parts.push(...listOf(allOf));
    for (const choice of [listOf(anyOf), listOf(oneOf)]) if (choice.length > 0) parts.push(this.#chance.pick(choice));
    return parts.reduce<JsonObject>(
      (whole, part) => (isObject(part) ? joined(whole, this.#merged(part, depth + 4)) : whole),
      rest,
    );
  }

  /** Only places in the schema itself: nothing is fetched. */
  #at(ref: string): Json {
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
    const types = listOf(type).filter((name) => typeof name === 'string');
    if (types.length > 0) return this.#chance.pick(types);
    if (schema['properties'] !== undefined || schema['required'] !== undefined) return 'object';
    if (schema['items'] !== undefined || schema['prefixItems'] !== undefined) return 'array';
    return schema['minimum'] !== undefined || schema['maximum'] !== undefined ? 'number' : 'string';
  }

  #object(schema: JsonObject, depth: number): Json {
    const { properties, required, additionalProperties, minProperties } = schema;
    const known = isObject(properties) ? properties : {};
    const needed = listOf(required).filter((name) => typeof name === 'string');
    const value: Record<string, Json> = {};
    for (const [name, part] of Object.entries(known))
      if (needed.includes(name) || (depth < depthMax && this.#chance.percent(50)))
        value[name] = this.any(part, depth + 1);
    for (const name of needed)
      if (!Object.hasOwn(value, name))
        value[name] = this.any(isObject(additionalProperties) ? additionalProperties : {}, depth + 1);
    const least = typeof minProperties === 'number' ? minProperties : 0;
    for (let nth = 0; Object.keys(value).length < least && nth < 20; nth++)
      value[`more_${nth}`] = this.any(isObject(additionalProperties) ? additionalProperties : {}, depth + 1);
    return value;
  }

  #array(schema: JsonObject, depth: number): Json {
    const { items, prefixItems, minItems, maxItems } = schema;
    const first = listOf(prefixItems ?? (Array.isArray(items) ? items : undefined));
    const least = typeof minItems === 'number' ? minItems : 0;
    const most = typeof maxItems === 'number' ? maxItems : least + 2;
    const length = depth >= depthMax ? least : least + this.#chance.below(Math.max(1, Math.min(3, most - least + 1)));
    return Array.from({ length }, (_, index) => this.any(first[index] ?? items, depth + 1));
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
    return (first + this.#chance.below(Math.min(steps, 1_000_000))) * step;
  }

  #text(schema: JsonObject): string {
    const { minLength, maxLength, format, pattern } = schema;
    if (typeof format === 'string' && formats[format] !== undefined) return formats[format](this.#chance);
    const text = typeof pattern === 'string' ? this.#fitting(pattern) : this.#chance.words().toWellFormed();
    const least = typeof minLength === 'number' ? minLength : 0;
    const long = text.length < least ? text.padEnd(least, this.#chance.hex()) : text;
    return typeof maxLength === 'number' ? [...long].slice(0, maxLength).join('') : long;
  }

  /** A text that a simple pattern accepts, if one of the usual kinds does. */
  #fitting(pattern: string): string {
    const hex = this.#chance.hex();
    const number = String(this.#chance.below(10_000));
    const kinds = [hex, `a${hex}`, number, `A${number}`, 'a', '1', '2026-01-01', `${number}.${number}`, `a@${hex}.org`];
    try {
      const test = new RegExp(pattern, 'u');
      return kinds.find((text) => test.test(text)) ?? hex;
    } catch {
      return hex;
    }
  }
}

const formats: Readonly<Record<string, (chance: Rng) => string>> = {
  date: (chance) => `20${10 + chance.below(80)}-0${1 + chance.below(9)}-1${chance.below(10)}`,
  time: (chance) => `1${chance.below(10)}:0${chance.below(10)}:00Z`,
  'date-time': (chance) => `20${10 + chance.below(80)}-0${1 + chance.below(9)}-11T1${chance.below(10)}:00:00Z`,
  email: (chance) => `${chance.hex()}@example.org`,
  uri: (chance) => `https://example.org/${chance.hex()}`,
  url: (chance) => `https://example.org/${chance.hex()}`,
  hostname: (chance) => `${chance.hex()}.example.org`,
  uuid: (chance) =>
    `${chance.hex().slice(0, 8)}-${chance.hex().slice(0, 4)}-4${chance.hex().slice(0, 3)}-a${chance.hex().slice(0, 3)}-${chance.hex()}`,
  ipv4: (chance) => `10.0.${chance.below(256)}.${chance.below(256)}`,
};

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : []);

/** What both ask for: properties and required names of either, of all else the later word. */
const joined = (one: JsonObject, other: JsonObject): JsonObject => ({
  ...one,
  ...other,
  ...(isObject(one['properties']) || isObject(other['properties'])
    ? { properties: { ...(one['properties'] as JsonObject), ...(other['properties'] as JsonObject) } }
    : {}),
  ...(one['required'] === undefined && other['required'] === undefined
    ? {}
    : { required: [...listOf(one['required']), ...listOf(other['required'])] }),
});
