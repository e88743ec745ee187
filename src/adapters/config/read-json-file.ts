// Reads a JSON file of the operator by its shape. Problems have lines, and never show a value, because it may be a secret.
import type { Json } from '#base';
import { formatPath } from '#base/shapes';
import type { ShapePath, ShapeProblem, ShapeReader } from '#base/shapes';
import type { Problem } from '#contracts';

export type JsonFile = ShapeReader & {
  /** Undefined if the text is not JSON. */
  readonly value: Json | undefined;
  readonly problems: readonly Problem[];
  /** Adds a problem that no shape describes. */
  readonly add: (path: ShapePath, message: string, nearest?: string | null) => undefined;
};

export const readJsonFile = (file: string, text: string): JsonFile => {
  const problems: Problem[] = [];
  const document = parseJson(text);
  if ('problem' in document) {
    const { line, message } = document.problem;
    problems.push({ file, line, key: null, message, nearest: null });
  }
  const add: JsonFile['add'] = (path, message, nearest = null) => {
    const line = 'problem' in document ? null : document.line(path);
    problems.push({ file, line, key: path.length === 0 ? null : formatPath(path), message, nearest });
  };
  return {
    value: 'problem' in document ? undefined : document.value,
    problems,
    add,
    report: (problem) => add(problem.path, messageOf(problem), problem.nearest()),
  };
};

const messageOf = ({ kind, expected }: ShapeProblem): string => {
  switch (kind) {
    case 'unknown':
      return `Unknown key; expected ${expected}.`;
    case 'missing':
      return `Missing; expected ${expected}.`;
    case 'rule':
      return expected;
    default:
      return `Expected ${expected}.`;
  }
};

// Parses JSON with the line of every key. The engine's parser reports no lines, and its messages quote the text around a
// mistake, which may be a secret in a configuration.
type JsonDocument = {
  /** Objects have no prototype. */
  readonly value: Json;
  /** The line of a key or list item, from 1, or of the nearest one above it that exists. */
  line(path: readonly PropertyKey[]): number;
};

type JsonProblem = { readonly line: number; readonly message: string };

const depthMax = 64;

const parseJson = (source: string): JsonDocument | { readonly problem: JsonProblem } => {
  const text = source.replace(/^\uFEFF/u, '');
  const reader: Reader = { text, at: 0, offsets: new Map() };
  try {
    const value = readValue(reader, []);
    skipSpace(reader);
    if (reader.at < text.length) throw new SyntaxMistake('Expected the end of the file after the first value.');
    return { value, line: (path) => lineAt(text, offsetOf(reader, path)) };
  } catch (mistake) {
    if (!(mistake instanceof SyntaxMistake)) throw mistake;
    return { problem: { line: lineAt(text, reader.at), message: `Not valid JSON. ${mistake.message}` } };
  }
};

type Path = readonly (string | number)[];

type Reader = { readonly text: string; at: number; readonly offsets: Map<string, number> };

class SyntaxMistake extends Error {}

const readValue = (reader: Reader, path: Path): Json => {
  skipSpace(reader);
  if (path.length > depthMax) throw new SyntaxMistake(`Values are nested more than ${depthMax} levels deep.`);
  switch (reader.text[reader.at]) {
    case '{':
      return readObject(reader, path);
    case '[':
      return readList(reader, path);
    case '"':
      return readString(reader);
    default:
      return readWord(reader);
  }
};

const readObject = (reader: Reader, path: Path): Json => {
  const object = Object.create(null) as Record<string, Json>;
  readItems(reader, '}', () => {
    if (reader.text[reader.at] !== '"') throw new SyntaxMistake('Expected a key in double quotes.');
    const offset = reader.at;
    const key = readString(reader);
    reader.at = offset;
    if (key === '__proto__') throw new SyntaxMistake('`__proto__` cannot be a key.');
    if (key in object) throw new SyntaxMistake(`Duplicate key \`${key}\`.`);
    readString(reader);
    skipSpace(reader);
    if (reader.text[reader.at] !== ':') throw new SyntaxMistake(`Expected a colon after the key \`${key}\`.`);
    reader.at++;
    reader.offsets.set(pathKey([...path, key]), offset);
    object[key] = readValue(reader, [...path, key]);
  });
  return object;
};

const readList = (reader: Reader, path: Path): Json => {
  const list: Json[] = [];
  readItems(reader, ']', () => {
    reader.offsets.set(pathKey([...path, list.length]), reader.at);
    list.push(readValue(reader, [...path, list.length]));
  });
  return list;
};

/** Reads from the opening bracket past the closing one. */
const readItems = (reader: Reader, close: string, readItem: () => void): void => {
  reader.at++;
  skipSpace(reader);
  if (reader.text[reader.at] === close) {
    reader.at++;
    return;
  }
  for (;;) {
    readItem();
    skipSpace(reader);
    const character = reader.text[reader.at];
    if (character !== ',' && character !== close) throw new SyntaxMistake(`Expected a comma or \`${close}\`.`);
    reader.at++;
    if (character === close) return;
    skipSpace(reader);
    if (reader.text[reader.at] === close) throw new SyntaxMistake(`Trailing comma before \`${close}\`.`);
  }
};

/** Control characters are left to the engine's parser, which refuses them. */
const string = /"[^"\\\n]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\n]*)*"/uy;
const word = /true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/uy;

const readString = (reader: Reader): string => {
  const begin = reader.at;
  try {
    return JSON.parse(matchNext(reader, string) ?? '') as string;
  } catch {
    reader.at = begin;
    throw new SyntaxMistake(
      'A string is not closed on its line, or contains a tab or a \\ that must be written twice.',
    );
  }
};

const readWord = (reader: Reader): Json => {
  const { text, at } = reader;
  if (at >= text.length) throw new SyntaxMistake('The file ends unexpectedly.');
  const written = matchNext(reader, word);
  if (written === null)
    throw new SyntaxMistake('Expected a value: a string in double quotes, a number, true, false, null, { or [.');
  return JSON.parse(written) as Json;
};

const matchNext = (reader: Reader, pattern: RegExp): string | null => {
  pattern.lastIndex = reader.at;
  const match = pattern.exec(reader.text);
  if (match === null) return null;
  reader.at = pattern.lastIndex;
  return match[0];
};

const skipSpace = (reader: Reader): void => {
  while (' \t\n\r'.includes(reader.text[reader.at] ?? '.')) reader.at++;
  if ('/#'.includes(reader.text[reader.at] ?? '.')) throw new SyntaxMistake('Comments are not allowed.');
};

const pathKey = (path: readonly PropertyKey[]): string => JSON.stringify(path.map(String));

const offsetOf = (reader: Reader, path: readonly PropertyKey[]): number => {
  for (let length = path.length; length > 0; length--) {
    const place = reader.offsets.get(pathKey(path.slice(0, length)));
    if (place !== undefined) return place;
  }
  return 0;
};

const lineAt = (text: string, at: number): number => text.slice(0, at).split('\n').length;
