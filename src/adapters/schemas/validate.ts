// Values against the JSON Schemas that agents and tools bring along. No code is generated from them.
import { Validator } from '@cfworker/json-schema';
import type { OutputUnit } from '@cfworker/json-schema';
import { createContext, Script } from 'node:vm';
import type { Context } from 'node:vm';
import type { JsonObject } from '#base';
import type { Validate } from '#contracts';

const known = new WeakMap<JsonObject, Validator>();

export const validate: Validate = (schema, value) => {
  let validator = known.get(schema);
  if (validator === undefined) {
    // The validator writes into the schema it is given.
    validator = new Validator(structuredClone(schema), '2020-12', false);
    known.set(schema, validator);
  }
  const { valid, errors } = isPlain(schema) ? validator.validate(value) : withinTime(() => validator.validate(value));
  if (valid) return fits;
  const said = errors.filter(({ keyword }) => !repeating.has(keyword)).slice(0, errorsMax);
  return [...new Set((said.length > 0 ? said : errors.slice(0, 1)).map(wordsOf))];
};

/** They only say that a part is wrong, which says so itself. */
const repeating = new Set([
  '$ref',
  'properties',
  'patternProperties',
  'additionalProperties',
  'unevaluatedProperties',
  'items',
  'prefixItems',
  'additionalItems',
  'unevaluatedItems',
  'allOf',
]);

const wordsOf = ({ instanceLocation, keyword, error }: OutputUnit): string => {
  const place = instanceLocation.replace(/^#/u, '') || 'the value';
  return `${place}: ${keyword === 'false' ? 'it is not known to the schema' : error.replace(/\.$/u, '')}`;
};

const fits: readonly string[] = [];

const errorsMax = 100;

const plain = new WeakMap<JsonObject, boolean>();

/** Whether checking takes no longer than the schema and the value are: without patterns, references and comparisons. */
const isPlain = (schema: JsonObject): boolean => {
  let found = plain.get(schema);
  if (found === undefined) {
    found = !/"(?:pattern|patternProperties|uniqueItems|format|\$ref|\$dynamicRef|\$recursiveRef)":/u.test(
      JSON.stringify(schema),
    );
    plain.set(schema, found);
  }
  return found;
};

const timeoutMs = 1_000;

/** A schema may come from anywhere, and a pattern or a reference can make it take for ever: then it cannot be used. */
const withinTime = <T>(work: () => T): T => {
  ground ??= createContext({ work });
  ground['work'] = work;
  try {
    return script.runInContext(ground, { timeout: timeoutMs }) as T;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    throw new Error(`Checking a value against the schema took longer than ${timeoutMs} ms.`, { cause: error });
  }
};

let ground: Context | undefined;
const script = new Script('work()');
