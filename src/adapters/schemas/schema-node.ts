// Schemas as they are applied: each keyword becomes a function, when the schema is first needed.
import { isObject } from '#base';
import { arrayKeywords } from './array-keywords.ts';
import { branchKeywords } from './branch-keywords.ts';
import type { Keyword, SchemaNode } from './check-run.ts';
import { KeywordReader } from './keyword-reader.ts';
import type { NodeSource } from './keyword-reader.ts';
import { objectKeywords } from './object-keywords.ts';
import type { Pattern } from './pattern.ts';
import type { SchemaIndex, SchemaObject } from './schema-index.ts';
import { valueKeywords } from './value-keywords.ts';

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
export class SchemaNodes implements NodeSource {
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
