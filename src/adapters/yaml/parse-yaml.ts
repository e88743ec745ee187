// Parses YAML as plain data: one mapping of text, numbers, booleans, lists and mappings, and nothing else.
//
//   yaml-plain-only. Tags, aliases, anchors, directives, merge keys and second documents are refused without further
//       processing.
//   yaml-linear. The cost is linear in the length of the text: keys are compared by hash, nesting is bounded, nothing is
//       expanded.
//   yaml-no-prototype. No key can reach a prototype.
import type { Composer, CST, Node, Schema, YAMLMap } from 'yaml';
import type { Json, JsonObject } from '#base';
import type { ParseYaml } from '#contracts';
import { keyText, lineFinder, lineAtOffset } from './lines.ts';
import { loadYaml } from './load-yaml.ts';
import { refuseSyntax } from './refuse-syntax.ts';
import { YamlRefusal } from './yaml-refusal.ts';

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
