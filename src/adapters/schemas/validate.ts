// Validates values against the JSON Schemas of agents and tools. No code is generated from schemas.
import type { JsonObject } from '#base';
import type { Validate } from '#contracts';
import { CheckRun, invalid, TooCostly } from './check-run.ts';
import { boundsProblem } from './schema-bounds.ts';
import { SchemaIndex } from './schema-index.ts';
import { SchemaNodes } from './schema-node.ts';

/** About 20 ms of the slowest steps on a small machine; ordinary steps take a tenth of that. */
const checkStepsMax = 250_000;

const compiled = new WeakMap<JsonObject, SchemaNodes>();

/** Throws when the schema is too large or a reference leads nowhere. */
export const validate: Validate = (schema, value, shared) => {
  const nodes = nodesOf(schema);
  const left = shared?.left ?? Infinity;
  const run = new CheckRun(Math.min(checkStepsMax, left));
  try {
    return run.apply(nodes.root, value, null) === invalid ? run.problems : noProblems;
  } catch (error) {
    if (!(error instanceof TooCostly)) throw error;
    return [`the value: too costly to check against the schema: ${error.message || limitText(left)}`];
  } finally {
    if (shared !== undefined) shared.left -= run.stepsUsed;
  }
};

const noProblems: readonly string[] = [];

const limitText = (left: number): string =>
  left < checkStepsMax
    ? 'it and the other values checked in this turn take too many steps; send fewer or smaller ones at once'
    : `it takes more than ${checkStepsMax} steps; send a smaller value`;

const nodesOf = (schema: JsonObject): SchemaNodes => {
  let nodes = compiled.get(schema);
  if (nodes === undefined) {
    const problem = boundsProblem(schema);
    if (problem !== null) throw new Error(problem);
    nodes = new SchemaNodes(schema, new SchemaIndex(schema));
    compiled.set(schema, nodes);
  }
  return nodes;
};
