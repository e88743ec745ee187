// Finds what a schema refers to and the patterns it uses, in one pass over its values, before anything is checked.
import { isObject } from '#base';
import { nestings } from './keywords.ts';
import { compilePattern, patternCostMax, patternSyntaxProblem, readingCost, readPattern, tooLarge } from './pattern.ts';
import type { Pattern } from './pattern.ts';
import type { Translation } from './translate-pattern.ts';
import { describeValue } from './check-run.ts';

export type SchemaObject = Readonly<Record<string, unknown>>;

/** The address of schemas without one. Nothing is ever fetched. */
const rootAddress = 'https://schema.invalid/';

/** Each address is parsed, copied and compared again for every reference and anchor below it. */
const addressCharsMax = 500;

/** For all patterns of a schema. Compiling takes some microseconds for each. */
const patternsCostMax = 8_000;
/** The same for reading them, also those that turn out to be of no use here. */
const readingCostMax = 20_000;
const oneTooMany = 'is one too many: the patterns of a schema are limited in size';

/** Keywords whose values are data: nothing in them is a schema. */
const dataKeywords: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples']);

/** `schema` must be within the bounds of size and depth. */
export class SchemaIndex {
  /** The first invalid or repeated address; null if there is none. */
  problem: string | null = null;
  readonly #bases = new Map<SchemaObject, string>();
  readonly #addresses = new Map<string, SchemaObject>();
  readonly #targets = new Map<SchemaObject, unknown>();
  readonly #translations = new Map<string, Translation>();
  readonly #patterns = new Map<string, Pattern | { readonly refused: string }>();
  readonly #syntaxProblems = new Map<string, string>();
  readonly #references: SchemaObject[] = [];
  #patternsCost = 0;
  #readingCost = 0;

  constructor(schema: unknown) {
    if (isObject(schema)) this.#addresses.set(rootAddress, schema);
    this.#scan(schema, rootAddress);
    // Following a reference can find schemas outside the known keywords, which can contain references.
    for (const reference of this.#references) this.#follow(reference);
  }

  get patternsCost(): number {
    return this.#patternsCost;
  }

  /** The schema that `$ref` leads to; undefined if there is none. */
  target(schema: SchemaObject): unknown {
    return this.#targets.get(schema);
  }

  /** Compiles the pattern when it is first needed: a request can bring many tools. */
  pattern(source: string): Pattern | { readonly refused: string } {
    let compiled = this.#patterns.get(source);
    if (compiled === undefined) {
      compiled = compilePattern(this.#translations.get(source) ?? { refused: 'is not valid' });
      this.#patterns.set(source, compiled);
    }
    return compiled;
  }

  /** What is wrong with the syntax of a pattern; null when it is valid, or when it is refused without being read. */
  syntaxProblem(source: string): string | null {
    return this.#syntaxProblems.get(source) ?? null;
  }

  /** Which patterns are too many depends on their order in the schema, not on which is needed first. */
  #read(source: string): void {
    if (this.#translations.has(source)) return;
    const translated = this.#translate(source);
    this.#translations.set(source, translated);
    if ('cost' in translated) this.#patternsCost += translated.cost;
  }

  /** JavaScript's own check of a pattern takes long for some, so the costs are known before. */
  #translate(source: string): Translation {
    if (source.length > patternCostMax) return { refused: tooLarge };
    const cost = readingCost(source);
    if (cost > patternCostMax) return { refused: tooLarge };
    if (this.#readingCost + cost > readingCostMax) return { refused: oneTooMany };
    this.#readingCost += cost;
    const problem = patternSyntaxProblem(source);
    if (problem !== null) {
      this.#syntaxProblems.set(source, problem);
      return { refused: 'is not valid' };
    }
    const translated = readPattern(source);
    const isOneTooMany = 'cost' in translated && this.#patternsCost + translated.cost > patternsCostMax;
    return isOneTooMany ? { refused: oneTooMany } : translated;
  }

  #scan(root: unknown, rootBase: string): void {
    const open: [unknown, string][] = [[root, rootBase]];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const [schema, outer] = next;
      if (!isObject(schema) || this.#bases.has(schema)) continue;
      const base = this.#register(schema, outer);
      this.#bases.set(schema, base);
      if (typeof schema['$ref'] === 'string') this.#references.push(schema);
      if (typeof schema['pattern'] === 'string') this.#read(schema['pattern']);
      if (isObject(schema['patternProperties']))
        for (const key of Object.keys(schema['patternProperties'])) this.#read(key);
      for (const inner of nestedSchemas(schema).toReversed()) open.push([inner, base]);
    }
  }

  /** Returns the base address of the schema. */
  #register(schema: SchemaObject, outer: string): string {
    let base = outer;
    const { $id, $anchor, $dynamicAnchor } = schema;
    if (typeof $id === 'string' && $id !== '') {
      const url = URL.parse($id, outer);
      if (url === null) this.problem ??= `The \`$id\` ${describeValue($id)} is not an address.`;
      else if (url.hash.length > 1) this.#addAddress(url.href, schema);
      else {
        url.hash = '';
        if (this.#addAddress(url.href, schema)) base = url.href;
      }
    }
    for (const anchor of [$anchor, $dynamicAnchor])
      if (typeof anchor === 'string') this.#addAddress(`${base}#${anchor}`, schema);
    return base;
  }

  /** False if the address is too long to be used. */
  #addAddress(address: string, schema: SchemaObject): boolean {
    if (address.length > addressCharsMax) {
      this.problem ??= `The address ${describeValue(address)} has more than ${addressCharsMax} characters.`;
      return false;
    }
    const known = this.#addresses.get(address);
    if (known !== undefined && known !== schema) this.problem ??= `Duplicate address ${describeValue(address)}.`;
    else this.#addresses.set(address, schema);
    return true;
  }

  #follow(schema: SchemaObject): void {
    const reference = schema['$ref'] as string;
    if (reference === '') return;
    const base = this.#bases.get(schema)!;
    const isLocal = reference.startsWith('#');
    const address = isLocal ? reference : URL.parse(reference, base)?.href;
    if (address === undefined) return;
    const [before = '', fragment = ''] = splitOnce(address, '#');
    const resource = isLocal ? base : before;
    const target =
      fragment === '' || fragment.startsWith('/')
        ? this.#walk(this.#addresses.get(resource), fragment)
        : this.#addresses.get(`${resource}#${decode(fragment)}`);
    if (target !== undefined) this.#targets.set(schema, target);
  }

  /** Follows a JSON pointer; the schema it leads to may be where no known keyword has one. */
  #walk(resource: SchemaObject | undefined, pointer: string): unknown {
    if (resource === undefined) return undefined;
    let at: unknown = resource;
    let base = this.#bases.get(resource)!;
    for (const part of pointer.split('/').slice(1)) {
      const key = decode(part).replaceAll('~1', '/').replaceAll('~0', '~');
      const isData = isObject(at) && this.#bases.has(at) && dataKeywords.has(key);
      if (isData || typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
      at = (at as SchemaObject)[key];
      if (isObject(at)) base = this.#bases.get(at) ?? base;
    }
    if (typeof at === 'boolean') return at;
    if (!isObject(at)) return undefined;
    this.#scan(at, base);
    return at;
  }
}

/** The schemas directly within a schema, whatever they are. */
const nestedSchemas = (schema: SchemaObject): unknown[] => {
  const found: unknown[] = [];
  for (const key of Object.keys(schema)) {
    const nesting = nestings.get(key);
    if (nesting === undefined) continue;
    const value = schema[key];
    if (nesting === 'schema' || (nesting === 'schema-or-list' && !Array.isArray(value))) found.push(value);
    else if (typeof value === 'object' && value !== null) for (const one of Object.values(value)) found.push(one);
  }
  return found;
};

const splitOnce = (text: string, mark: string): readonly string[] => {
  const at = text.indexOf(mark);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
};

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};
