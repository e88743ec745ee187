import { isObject } from '#base';
import type { Json } from '#base';
import { valid } from './check-run.ts';
import type { CheckRun, Keyword, Place, SchemaNode, SeenKeys, CheckVerdict } from './check-run.ts';
import { checks } from './keywords.ts';
import type { Pattern } from './pattern.ts';
import type { SchemaObject } from './schema-index.ts';

/** Finds the nodes of other schemas. */
export interface NodeSource {
  node(schema: unknown): SchemaNode;
  /** What `$ref` leads to. */
  target(schema: SchemaObject): SchemaNode | null;
  /** Null: it cannot be used here. */
  pattern(source: string): Pattern | null;
}

type Counts =
  | `${'min' | 'max'}${'Length' | 'Items' | 'Contains' | 'Properties'}`
  | 'minimum'
  | 'maximum'
  | 'exclusiveMinimum'
  | 'exclusiveMaximum'
  | 'multipleOf';

/** The keywords whose values contain no schemas. */
type KeywordValues = Readonly<Record<Counts, number>> & {
  readonly type: string | readonly string[];
  readonly enum: readonly Json[];
  readonly required: readonly string[];
  readonly dependentRequired: SchemaObject;
  readonly dependentSchemas: SchemaObject;
  readonly dependencies: SchemaObject;
  readonly uniqueItems: boolean;
  readonly format: string;
};

/** Reads the keywords of one schema object. Values that a keyword cannot have are ignored. */
export class KeywordReader {
  readonly nodes: NodeSource;
  readonly schema: SchemaObject;

  constructor(schema: SchemaObject, nodes: NodeSource) {
    this.schema = schema;
    this.nodes = nodes;
  }

  value<Name extends keyof KeywordValues>(key: Name): KeywordValues[Name] | undefined {
    const value = this.schema[key];
    return value === undefined || (checks.get(key)?.(value) ?? null) !== null
      ? undefined
      : (value as KeywordValues[Name]);
  }

  node(key: string): SchemaNode | null {
    const value = this.schema[key];
    return isObject(value) || typeof value === 'boolean' ? this.nodes.node(value) : null;
  }

  list(key: string): readonly SchemaNode[] | null {
    const value = this.schema[key];
    return Array.isArray(value) && value.length > 0 ? value.map((one) => this.nodes.node(one)) : null;
  }

  map(key: string): ReadonlyMap<string, SchemaNode> | null {
    const value = this.schema[key];
    if (!isObject(value)) return null;
    return new Map(Object.entries(value).map(([name, one]) => [name, this.nodes.node(one)]));
  }
}

/** One that applies to a kind of values; all others are valid. */
export const onlyFor =
  <T extends Json>(applies: (value: Json) => value is T, keyword: (value: T, ...rest: Rest) => CheckVerdict): Keyword =>
  (value, ...rest) =>
    applies(value) ? keyword(value, ...rest) : valid;

type Rest = [place: Place, run: CheckRun, seen: SeenKeys | null];

/** A keyword that only compares: valid, or reported as a problem. */
export const reportUnless = (holds: boolean, place: Place, run: CheckRun, text: () => string): CheckVerdict =>
  holds ? valid : run.report(place, text);
