// Reads the fields of an untrusted request body. Every error names the path of the field.
import { CloisterError, isObject } from '#base';
import type { Json, JsonObject } from '#base';

export class BodyFields {
  readonly value: JsonObject;
  readonly #path: string;

  /** Throws `request_invalid` if the value is not an object. */
  constructor(value: Json | undefined, path = '') {
    if (!isObject(value)) throw invalid(path === '' ? 'The body' : path, 'a JSON object', value);
    this.value = value;
    this.#path = path;
  }

  /** Null counts as missing: clients of every protocol send null for a field they do not set. */
  has(name: string): boolean {
    return this.value[name] !== undefined && this.value[name] !== null;
  }

  text(name: string): string {
    const value = this.value[name];
    if (typeof value !== 'string') throw invalid(this.path(name), 'a string', value);
    return value;
  }

  optionalText(name: string): string | undefined {
    return this.has(name) ? this.text(name) : undefined;
  }

  flag(name: string): boolean {
    const value = this.has(name) ? this.value[name] : false;
    if (typeof value !== 'boolean') throw invalid(this.path(name), 'true or false', value);
    return value;
  }

  /** Finite, and at least `least`. */
  optionalNumber(name: string, least = 0): number | undefined {
    if (!this.has(name)) return undefined;
    const value = this.value[name];
    if (typeof value !== 'number' || !Number.isFinite(value) || value < least)
      throw invalid(this.path(name), `a number of at least ${least}`, value);
    return value;
  }

  oneOf<T extends string>(name: string, choices: readonly T[]): T | undefined {
    if (!this.has(name)) return undefined;
    const value = this.value[name];
    const found = choices.find((choice) => choice === value);
    if (found === undefined) throw invalid(this.path(name), `one of ${choices.join(', ')}`, value);
    return found;
  }

  object(name: string): JsonObject {
    const value = this.value[name];
    if (!isObject(value)) throw invalid(this.path(name), 'a JSON object', value);
    return value;
  }

  optionalObject(name: string): JsonObject | undefined {
    return this.has(name) ? this.object(name) : undefined;
  }

  fields(name: string): BodyFields {
    return new BodyFields(this.value[name], this.path(name));
  }

  list(name: string): readonly Json[] {
    const value = this.value[name];
    if (!Array.isArray(value)) throw invalid(this.path(name), 'an array', value);
    return value as readonly Json[];
  }

  /** The items of an array, each of them an object. */
  items(name: string): readonly BodyFields[] {
    return this.list(name).map((item, index) => new BodyFields(item, `${this.path(name)}[${index}]`));
  }

  texts(name: string): readonly string[] {
    return this.list(name).map((item, index) => {
      if (typeof item !== 'string') throw invalid(`${this.path(name)}[${index}]`, 'a string', item);
      return item;
    });
  }

  /** Throws `request_unsupported` if the field is set. */
  refuse(name: string, reason: string): void {
    if (this.has(name)) throw new CloisterError('request_unsupported', `${this.path(name)}: ${reason}`);
  }

  /** Throws `request_invalid` for a field whose name is not listed. */
  allowOnly(names: readonly string[]): void {
    const unknown = Object.keys(this.value).find((name) => !names.includes(name));
    if (unknown === undefined) return;
    throw new CloisterError(
      'request_invalid',
      `${this.path(unknown.slice(0, 80))}: unknown field. Known fields: ${names.join(', ')}.`,
    );
  }

  invalid(name: string, expected: string): CloisterError {
    return invalid(this.path(name), expected, this.value[name]);
  }

  path(name: string): string {
    return this.#path === '' ? name : `${this.#path}.${name}`;
  }
}

const invalid = (path: string, expected: string, value: Json | undefined): CloisterError =>
  new CloisterError('request_invalid', `${path}: expected ${expected}; got ${summarizeValue(value)}.`);

const summarizeValue = (value: Json | undefined): string => {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  return JSON.stringify(typeof value === 'string' ? value.slice(0, 40) : value);
};
