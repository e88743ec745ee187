// Validates values against the JSON Schemas of agents and tools. No code is generated from schemas.
import { isObject } from '#base';
import type { JsonObject } from '#base';
import type { Validate } from '#contracts';
import { arrayKeywords } from './array-keywords.ts';
import { branchKeywords } from './branch-keywords.ts';
import { CheckRun, invalid, TooCostly } from './check-run.ts';
import type { Keyword, SchemaNode } from './check-run.ts';
import { KeywordReader } from './keyword-reader.ts';
import type { NodeSource } from './keyword-reader.ts';
import { objectKeywords } from './object-keywords.ts';
import type { Pattern } from './pattern.ts';
import { measureSchema, valuesMax } from './schema-bounds.ts';
import { SchemaIndex } from './schema-index.ts';
import type { SchemaObject } from './schema-index.ts';
import { valueKeywords } from './value-keywords.ts';

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

// Schemas as they are applied: each keyword becomes a function, when the schema is first needed.
class LazySchemaNode implements SchemaNode {
  readonly tracksSeen: boolean;
  readonly #schema: unknown;
  readonly #nodes: NodeSource;
  #keywords: readonly Keyword[] | null = null;

  constructor(schema: unknown, nodes: NodeSource) {
    this.#schema = schema;
    this.#nodes = nodes;
    this.tracksSeen =
      isObject(schema) && (schema['unevaluatedProperties'] !== undefined || schema['unevaluatedItems'] !== undefined);
  }

  get keywords(): readonly Keyword[] {
    this.#keywords ??= this.#compile();
    return this.#keywords;
  }

  /** What is not a schema allows everything: the schemas of tools are not refused for it, and the tools check themselves. */
  #compile(): readonly Keyword[] {
    if (this.#schema === false) return [(_, place, run) => run.report(place, () => 'not allowed by the schema')];
    if (!isObject(this.#schema)) return [];
    const reader = new KeywordReader(this.#schema, this.#nodes);
    return [...branchKeywords(reader), ...valueKeywords(reader), ...objectKeywords(reader), ...arrayKeywords(reader)];
  }
}

/** The nodes of one schema: one for each schema object, however many references lead to it. */
class SchemaNodes implements NodeSource {
  readonly root: SchemaNode;
  readonly #index: SchemaIndex;
  readonly #nodes = new Map<unknown, SchemaNode>();

  constructor(schema: unknown, index: SchemaIndex) {
    this.#index = index;
    this.root = this.node(schema);
  }

  node(schema: unknown): SchemaNode {
    let node = this.#nodes.get(schema);
    if (node === undefined) {
      node = new LazySchemaNode(schema, this);
      this.#nodes.set(schema, node);
    }
    return node;
  }

  target(schema: SchemaObject): SchemaNode | null {
    const target = this.#index.target(schema);
    return target === undefined ? null : this.node(target);
  }

  pattern(source: string): Pattern | null {
    const pattern = this.#index.pattern(source);
    return 'refused' in pattern ? null : pattern;
  }
}
