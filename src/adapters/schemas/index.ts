// JSON Schemas that agents and tools bring along. No code is generated from them.
import { Validator } from '@cfworker/json-schema';
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
  const { valid, errors } = validator.validate(value);
  if (valid) return fits;
  // Errors of a parent only repeat that a child is wrong: the leaves say what.
  const leaves = errors.filter(
    (error) =>
      !errors.some((other) => other !== error && other.instanceLocation.startsWith(`${error.instanceLocation}/`)),
  );
  return [
    ...new Set(
      leaves.map(({ instanceLocation, error }) => `${instanceLocation.replace(/^#/u, '') || 'the value'}: ${error}`),
    ),
  ];
};

const fits: readonly string[] = [];
