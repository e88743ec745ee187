// Validates values against the JSON Schemas of agents and tools. No code is generated from schemas.
import { Validator } from '@cfworker/json-schema';
import type { OutputUnit } from '@cfworker/json-schema';
import { createContext, Script } from 'node:vm';
import type { Context } from 'node:vm';
import type { Json, JsonObject } from '#base';
import type { Validate } from '#contracts';

const validators = new WeakMap<JsonObject, Validator>();

export const validate: Validate = (schema, value) => {
  let validator = validators.get(schema);
  if (validator === undefined) {
    // The validator writes into its schema, so it gets a copy.
    validator = new Validator(structuredClone(schema), '2020-12', false);
    validators.set(schema, validator);
  }
  const { valid, errors } = isQuick(schema, value)
    ? validator.validate(value)
    : runWithTimeout(() => validator.validate(value), untrusted.has(schema) ? untrustedTimeoutMs : timeoutMs);
  if (valid) return noProblems;
  const reported = errors.filter(({ keyword }) => !containerKeywords.has(keyword)).slice(0, errorsMax);
  return [...new Set((reported.length > 0 ? reported : errors.slice(0, 1)).map(describeProblem))];
};

/** Errors of these keywords only repeat that a nested value is invalid, which has its own error. */
const containerKeywords = new Set([
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

const describeProblem = ({ instanceLocation, keyword, error }: OutputUnit): string => {
  const place = instanceLocation.replace(/^#/u, '') || 'the value';
  return `${place}: ${keyword === 'false' ? 'not allowed by the schema' : error.replace(/\.$/u, '')}`;
};

const noProblems: readonly string[] = [];

const errorsMax = 100;

/** Schemas that came with a request, not from the operator. */
const untrusted = new WeakSet<JsonObject>();

/** From now on, validation against this schema has a short time limit. */
export const boundSchemaTime = (schema: JsonObject): void => void untrusted.add(schema);

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

/** Without patterns, references and comparisons, the cost is linear in schema and value; with branches, it is their product. */
const isQuick = (schema: JsonObject, value: Json): boolean => {
  const { plain, branches, chars } = costOf(schema);
  if (!plain) return false;
  return !branches || chars * JSON.stringify(value).length <= quickProduct;
};

const quickProduct = 20_000_000;

const [timeoutMs, untrustedTimeoutMs] = [1_000, 100];

/** A schema may come from anywhere, and a pattern or reference can make validation endless, so it is limited in time. */
const runWithTimeout = <T>(work: () => T, ms: number): T => {
  sandbox ??= createContext({ work });
  sandbox['work'] = work;
  try {
    return script.runInContext(sandbox, { timeout: ms }) as T;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    throw new Error(`Validating a value against the schema took longer than ${ms} ms.`, { cause: error });
  }
};

let sandbox: Context | undefined;
const script = new Script('work()');
