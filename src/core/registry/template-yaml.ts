// Writes values as YAML in at most 100 columns. Parsing it gives the same values.
import type { Json, JsonObject } from '#base';

export const columnsMax = 100;
/** Deeper values are written in brackets, which need no further indentation. */
const blockIndentMax = 40;
const shortMax = 60;

/** `key: value` with this indentation, on as many lines as needed. */
export const yamlLines = (key: string, value: Json, indent: number): readonly string[] => {
  const start = `${' '.repeat(indent)}${keyText(key)}:`;
  return valueLines(start, value, indent);
};

/** A value on one line, in flow style. */
export const flowText = (value: Json): string => {
  if (Array.isArray(value))
    return value.length === 0 ? '[]' : `[${value.map((item) => flowText(item as Json)).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    const entries = entriesOf(value as JsonObject);
    if (entries.length === 0) return '{}';
    return `{ ${entries.map(([key, item]) => `${keyText(key)}: ${flowText(item)}`).join(', ')} }`;
  }
  return typeof value === 'string' && !flowPlain(value) ? quoted(value) : String(value);
};

/** What follows `key:` or `-`. */
const valueLines = (start: string, value: Json, indent: number): readonly string[] => {
  const flow = typeof value === 'string' && blockPlain(value) ? value : flowText(value);
  const fits = start.length + 1 + flow.length <= columnsMax;
  if (typeof value !== 'object' || value === null)
    return fits ? [`${start} ${flow}`] : quotedLines(`${start} `, String(value), indent + 2);
  if (fits && flow.length <= shortMax) return [`${start} ${flow}`];
  if (indent >= blockIndentMax) return wrapped(`${start} `, pieces(value), indent + 2);
  const lines = Array.isArray(value)
    ? value.flatMap((item) => valueLines(`${' '.repeat(indent + 2)}-`, item as Json, indent + 2))
    : entriesOf(value as JsonObject).flatMap(([key, item]) => yamlLines(key, item, indent + 2));
  return [start, ...lines];
};

/** A string in double quotes, wrapped if needed: a backslash at the end of a line joins it to the next. */
const quotedLines = (start: string, text: string, indent: number): readonly string[] =>
  wrapped(start, stringPieces(text), indent);

/** Text that must stay on one line. `joined`: a line break after it needs a backslash. */
type Piece = { readonly text: string; readonly joined: boolean };

const wrapped = (start: string, parts: readonly Piece[], indent: number): readonly string[] => {
  const lines: string[] = [];
  let line = start;
  let isJoined = false;
  for (const [index, piece] of parts.entries()) {
    const room = columnsMax - (piece.joined ? 1 : 0);
    const startsLine = line.trim() === '';
    if (!startsLine && index > 0 && line.length + piece.text.length > room) {
      lines.push(isJoined ? `${line}\\` : line.trimEnd());
      line = ' '.repeat(indent) + (isJoined && piece.text.startsWith(' ') ? `\\${piece.text}` : piece.text);
    } else line += piece.text;
    isJoined = piece.joined;
  }
  return [...lines, line.trimEnd()];
};

const stringPieces = (text: string): readonly Piece[] => {
  const words = escaped(text).match(/\\u[0-9a-f]{4}|\\.|[^\\ ]{1,30} ?| /gu) ?? [];
  return [
    { text: '"', joined: true },
    ...words.map((word) => ({ text: word, joined: true })),
    { text: '"', joined: false },
  ];
};

const pieces = (value: Json): readonly Piece[] => {
  const fixed = (text: string): Piece => ({ text, joined: false });
  if (typeof value === 'string' && !flowPlain(value)) return stringPieces(value);
  if (typeof value !== 'object' || value === null) return [fixed(String(value))];
  const isList = Array.isArray(value);
  const items = isList
    ? value.map((item) => pieces(item as Json))
    : entriesOf(value as JsonObject).map(([key, item]) => [fixed(`${keyText(key)}: `), ...pieces(item)]);
  return [
    fixed(isList ? '[' : '{'),
    ...items.flatMap((item, index) => (index === 0 ? item : [fixed(', '), ...item])),
    fixed(isList ? ']' : '}'),
  ];
};

const entriesOf = (object: JsonObject): readonly (readonly [string, Json])[] =>
  Object.entries(object).filter((entry): entry is [string, Json] => entry[1] !== undefined);

const keyText = (key: string): string => (flowPlain(key) ? key : quoted(key));

const quoted = (text: string): string => `"${escaped(text)}"`;

/** Without its quotes; invisible characters are escaped. */
const escaped = (text: string): string =>
  JSON.stringify(text)
    .slice(1, -1)
    .replace(invisible, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

const invisible = /[\u007F-\u00A0\u00AD\u200B-\u200F\u2028-\u202F\u205F-\u206F\uFEFF\uFFFD]/gu;

const flowPlain = (text: string): boolean =>
  /^(?:(?:\.{1,2}\/)?[\p{L}_][\p{L}0-9_./-]*|[0-9]+(?:ms|s|m|h))$/u.test(text) && !isReserved(text);

const blockPlain = (text: string): boolean =>
  /^\p{L}[\p{L}0-9_ .,;()'’?!/%+-]*$/u.test(text) && !text.endsWith(' ') && !isReserved(text);

/** Words that some YAML parsers read as values. */
const isReserved = (text: string): boolean => /^(?:true|false|null|yes|no|on|off|y|n)$/iu.test(text);
