// Parses YAML as plain data: one mapping of text, numbers, booleans, lists and mappings, and nothing else.
//
//   yaml-plain-only. Tags, aliases, anchors, directives, merge keys and second documents are refused without further
//       processing.
//   yaml-linear. The cost is linear in the length of the text: keys are compared by hash, nesting is bounded, nothing is
//       expanded.
//   yaml-no-prototype. No key can reach a prototype.
import { createRequire } from 'node:module';
import type { Composer, CST, Node, Schema, YAMLMap } from 'yaml';
import type * as Yaml from 'yaml';
import type { Json, JsonObject } from '#base';
import type { ParseYaml, YamlDocument } from '#contracts';

// Loads the package `yaml` on first use: loading takes 40 ms, and agents in code, or commands that inspect a run, do not need it.
let loaded: typeof Yaml | undefined;

const loadYaml = (): typeof Yaml => (loaded ??= createRequire(import.meta.url)('yaml') as typeof Yaml);

/** Why and where a text is refused. Never leaves this folder. */
class YamlRefusal extends Error {
  readonly offset: number;
  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

const charsMax = 128_000;

let schema: Schema | undefined;
/** Duplicate keys are found in `toObject`: the package would compare each key with all before it. */
const options = { uniqueKeys: false, prettyErrors: false, logLevel: 'silent' } as const;

export const parseYaml: ParseYaml = (text) => {
  try {
    const contents = compose(text);
    return { value: contents === null ? {} : toObject(contents), line: lineFinder(text, contents) };
  } catch (error) {
    if (error instanceof YamlRefusal)
      return { problem: { line: lineAtOffset(text, error.offset), message: error.message } };
    throw error;
  }
};

const compose = (text: string): YAMLMap | null => {
  if (text.length > charsMax) throw new YamlRefusal(0, `Too long: the limit is ${charsMax} characters.`);
  const { isMap, isScalar, Parser } = loadYaml();
  const tokens: CST.Token[] = [];
  for (const token of new Parser().parse(text)) {
    refuseSyntax(token, tokens);
    tokens.push(token);
  }
  for (const document of strictComposer().compose(tokens)) {
    const [error] = document.errors;
    if (error !== undefined) throw notYaml(error.pos[0], error.message);
    const { contents } = document;
    if (isMap(contents)) return contents;
    if (contents !== null && !(isScalar(contents) && contents.value === null))
      throw new YamlRefusal(contents.range?.[0] ?? 0, 'Expected keys and values, such as `description: What it does`.');
  }
  return null;
};

/** Stops at the first error: the package would continue and create an object for each. */
const strictComposer = (): Composer => {
  const yaml = loadYaml();
  schema ??= new yaml.Schema({ schema: 'core', merge: false, resolveKnownTags: false });
  const composer = new yaml.Composer({ ...options, schema });
  let first: YamlRefusal | undefined;
  const onError = (source: ErrorSource, _code: string, message: string, isWarning?: boolean): void => {
    if (isWarning === true) return;
    const offset = typeof source === 'number' ? source : 'offset' in source ? source.offset : source[0];
    // Each nesting level catches the error and reports it again, less precisely, so the first one is kept.
    throw (first ??= notYaml(offset, message));
  };
  return Object.assign(composer, { onError });
};

type ErrorSource = number | readonly [number, number, number?] | { readonly offset: number };

const notYaml = (offset: number, message: string): YamlRefusal =>
  new YamlRefusal(offset, `Not valid YAML: ${message.split('\n', 1)[0]!.replace(/[.:]$/u, '')}.`);

const toObject = (map: YAMLMap): JsonObject => {
  const object: Record<string, Json> = {};
  for (const { key, value } of map.items) {
    const name = keyText(key);
    const offset = (key as Node).range?.[0] ?? 0;
    if (name === null) throw new YamlRefusal(offset, 'Expected a plain text key before the colon.');
    if (name === '__proto__' || (name === '<<' && (key as { type?: string }).type === 'PLAIN'))
      throw new YamlRefusal(offset, `\`${name}\` is not allowed as a key.`);
    if (Object.hasOwn(object, name)) throw new YamlRefusal(offset, `Duplicate key \`${name.slice(0, 80)}\`.`);
    object[name] = toJson(value as Node | null);
  }
  return object;
};

const toJson = (node: Node | null): Json => {
  if (node === null) return null;
  const { isMap, isSeq } = loadYaml();
  if (isMap(node)) return toObject(node);
  if (isSeq(node)) return node.items.map((item) => toJson(item as Node));
  const value = (node as { value?: unknown }).value as Json;
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new YamlRefusal(node.range?.[0] ?? 0, 'Expected a finite number; omit the key for no limit.');
  return value;
};

// Finds the line of a key. Nothing is computed until it is needed.
/** Counted from 1. */
const lineAtOffset = (text: string, offset: number): number => {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
};

/** A key as written; null when it is not plain text. */
const keyText = (key: unknown): string | null => {
  if (!loadYaml().isScalar(key)) return null;
  if (typeof key.value === 'string') return key.value;
  return key.source === undefined || key.source === '' ? null : key.source;
};

const lineFinder = (text: string, contents: YAMLMap | null): YamlDocument['line'] => {
  const { isMap, isSeq } = loadYaml();
  let starts: readonly number[] | null = null;
  const indexes = new Map<YAMLMap, ReadonlyMap<string, readonly [Node, unknown]>>();
  const entryOf = (map: YAMLMap, key: string): readonly [Node, unknown] | undefined => {
    let index = indexes.get(map);
    if (index === undefined) {
      index = new Map(map.items.map(({ key: node, value }) => [keyText(node) ?? '', [node as Node, value]]));
      indexes.set(map, index);
    }
    return index.get(key);
  };
  return (path) => {
    let offset = contents?.range?.[0] ?? 0;
    let node: unknown = contents;
    for (const part of path) {
      const [place, below] = isMap(node)
        ? (entryOf(node, String(part)) ?? [])
        : isSeq(node)
          ? [node.items[Number(part)] as Node | undefined, node.items[Number(part)]]
          : [];
      if (place?.range === undefined || place.range === null) break;
      offset = place.range[0];
      node = below;
    }
    starts ??= lineStarts(text);
    return lineForOffset(starts, offset);
  };
};

const lineStarts = (text: string): readonly number[] => {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
};

/** The number of the last line that starts at or before the offset. */
const lineForOffset = (starts: readonly number[], offset: number): number => {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle]! <= offset) low = middle;
    else high = middle - 1;
  }
  return low + 1;
};

// Refuses YAML features beyond plain data on the token level, before anything is built from them.
const depthMax = 64;

/** `before`: the earlier tokens of the same text. */
const refuseSyntax = (token: CST.Token, before: readonly CST.Token[]): void => {
  if (token.type === 'directive') throw new YamlRefusal(token.offset, 'Lines that start with `%` are not allowed.');
  if (token.type === 'error') throw new YamlRefusal(token.offset, `Not valid YAML: ${token.message}.`);
  if (token.type !== 'document') return;
  if (before.some(({ type }) => type === 'document' || type === 'doc-end'))
    throw new YamlRefusal(token.offset, 'Expected a single document, but a second one follows `---` or `...`.');
  refuseProps(token.start);
  refuseNested(token);
};

/** Walks with an explicit stack, so that deep nesting cannot exhaust the call stack. */
const refuseNested = (document: CST.Document): void => {
  const waiting: { token: CST.Token; depth: number }[] = [];
  const add = (token: CST.Token | null | undefined, depth: number): void => {
    if (token !== null && token !== undefined) waiting.push({ token, depth });
  };
  add(document.value, 1);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { token, depth } = next;
    if (token.type === 'alias') refuseMark(token, '*');
    if (token.type === 'error') throw new YamlRefusal(token.offset, `Not valid YAML: ${token.message}.`);
    if (!('items' in token)) continue;
    if (depth > depthMax) throw new YamlRefusal(token.offset, `Expected at most ${depthMax} levels of nesting.`);
    for (const item of token.items) {
      refuseProps(item.start);
      if (item.sep !== undefined) refuseProps(item.sep);
      add(item.key, depth + 1);
      add(item.value, depth + 1);
    }
  }
};

const refuseProps = (props: readonly CST.SourceToken[]): void => {
  for (const prop of props) {
    if (prop.type === 'tag') refuseMark(prop, '!');
    if (prop.type === 'anchor') refuseMark(prop, '&');
  }
};

const refuseMark = (token: { readonly offset: number }, mark: '*' | '!' | '&'): never => {
  const what = { '*': 'Aliases', '!': 'Tags', '&': 'Anchors' }[mark];
  throw new YamlRefusal(token.offset, `${what} are not allowed; quote a value that starts with \`${mark}\`.`);
};
