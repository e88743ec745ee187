// Validates values against the JSON Schemas of agents and tools. No code is generated from schemas.
import type { JsonObject } from '#base';
import type { Validate } from '#contracts';
import { CheckRun, invalid, TooCostly } from './check-run.ts';
import { measureSchema, valuesMax } from './schema-bounds.ts';
import { SchemaIndex } from './schema-index.ts';
import { SchemaNodes } from './schema-node.ts';

/** About 20 ms of the slowest steps on a small machine; ordinary steps take a tenth of that. */
const checkStepsMax = 250_000;

/** For preparing a schema: its values, and what its patterns cost. */
const [stepsPerValue, stepsPerPatternCost] = [2, 20];

/** Throws when the schema is too large or a reference leads nowhere. */
export const validate: Validate = (schema, value, shared) => {
  if (shared !== undefined && shared.left <= 0) return [tooCostly(turnText)];
  const prepared = prepare(schema);
  // Preparing counts each time, although it is done once: otherwise the verdict would depend on who came first.
  if (shared !== undefined) shared.left -= prepared.steps;
  if ('problem' in prepared) throw new Error(prepared.problem);
  const left = Math.max(0, shared?.left ?? Infinity);
  const run = new CheckRun(Math.min(checkStepsMax, left));
  try {
    return run.apply(prepared.nodes.root, value, null) === invalid ? run.problems : noProblems;
  } catch (error) {
    if (!(error instanceof TooCostly)) throw error;
    return [tooCostly(error.message || (left < checkStepsMax ? turnText : checkText))];
  } finally {
    if (shared !== undefined) shared.left -= run.stepsUsed;
  }
};

const noProblems: readonly string[] = [];

const tooCostly = (why: string): string => `the value: too costly to check against the schema: ${why}`;
const checkText = `it takes more than ${checkStepsMax} checking steps; send a smaller value`;
const turnText =
  'it and the other values checked in this turn take too many checking steps; send fewer or smaller ones at once';

type PreparedSchema = { readonly steps: number } & ({ readonly nodes: SchemaNodes } | { readonly problem: string });

const preparedSchemas = new WeakMap<JsonObject, PreparedSchema>();

const prepare = (schema: JsonObject): PreparedSchema => {
  let prepared = preparedSchemas.get(schema);
  if (prepared === undefined) {
    prepared = prepareNew(schema);
    preparedSchemas.set(schema, prepared);
  }
  return prepared;
};

const prepareNew = (schema: JsonObject): PreparedSchema => {
  const size = measureSchema(schema);
  if ('problem' in size) return { ...size, steps: stepsPerValue * valuesMax };
  const index = new SchemaIndex(schema);
  const steps = stepsPerValue * size.values + stepsPerPatternCost * index.patternsCost;
  return { steps, nodes: new SchemaNodes(schema, index) };
};
