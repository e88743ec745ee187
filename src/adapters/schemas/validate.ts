// Values against the JSON Schemas that agents and tools bring along. No code is generated from them.
import { Validator } from '@cfworker/json-schema';
import type { OutputUnit } from '@cfworker/json-schema';
import { createContext, Script } from 'node:vm';
import type { Context } from 'node:vm';
import type { Json, JsonObject } from '#base';
import type { Validate } from '#contracts';

const known = new WeakMap<JsonObject, Validator>();

export const validate: Validate = (schema, value) => {
  let validator = known.get(schema);
  if (validator === undefined) {
    // The validator writes into the schema it is given.
    validator = new Validator(structuredClone(schema), '2020-12', false);
    known.set(schema, validator);
  }
  const { valid, errors } = isQuick(schema, value)
    ? validator.validate(value)
    : withinTime(() => validator.validate(value), foreign.has(schema) ? briefMs : timeoutMs);
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

/** Those that came with a request, from somebody who is not the operator. */
const foreign = new WeakSet<JsonObject>();

/** From now on checking against this one may take only a moment. */
export const boundSchemaTime = (schema: JsonObject): void => void foreign.add(schema);

type Cost = { readonly plain: boolean; readonly branches: boolean; readonly chars: number };

const costs = new WeakMap<JsonObject, Cost>();

const costOf = (schema: JsonObject): Cost => {
  let cost = costs.get(schema);
  if (cost === undefined) {
    const text = JSON.stringify(schema);
    const plain = !/"(?:pattern|patternProperties|uniqueItems|format|\$ref|\$dynamicRef|\$recursiveRef)":/u.test(text);
    const branches = /"(?:anyOf|oneOf|allOf|not|if|enum|const|contains|dependentSchemas)":/u.test(text);
    cost = { plain, branches, chars: text.length };
    costs.set(schema, cost);
  }
  return cost;
};

/** Without patterns, references and comparisons it takes as long as schema and value are; with branches, as their product. */
const isQuick = (schema: JsonObject, value: Json): boolean => {
  const { plain, branches, chars } = costOf(schema);
  if (!plain) return false;
  return !branches || chars * JSON.stringify(value).length <= quickProduct;
};

const quickProduct = 20_000_000;

const [timeoutMs, briefMs] = [1_000, 100];

/** A schema may come from anywhere, and a pattern or a reference can make it take for ever: then it cannot be used. */
const withinTime = <T>(work: () => T, ms: number): T => {
  ground ??= createContext({ work });
  ground['work'] = work;
  try {
    return script.runInContext(ground, { timeout: ms }) as T;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    throw new Error(`Checking a value against the schema took longer than ${ms} ms.`, { cause: error });
  }
};

let ground: Context | undefined;
const script = new Script('work()');
