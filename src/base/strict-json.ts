// Parses untrusted JSON: JSON.parse, after a scan for what it would accept or could not handle.
//
//   strict-json-no-duplicate-key. Two readers of one request must not see different values.
//   strict-json-bounded-depth. Text that is nested too deeply, or that sets `__proto__`, never becomes an object.
//   strict-json-bounded-values. Processing each value of a text of some megabytes must not take seconds.
import type { Json } from './json.ts';

export type StrictJson = { readonly value: Json } | { readonly problem: string };

export const parseStrictJson = (text: string, depthMax: number): StrictJson => {
  let value: Json;
  try {
    const problem = scan(text, depthMax);
    if (problem !== null) return { problem };
    value = JSON.parse(text) as Json;
  } catch {
    // The message of JSON.parse quotes the text around the mistake, which must not be repeated.
    return { problem: 'Not valid JSON.' };
  }
  return { value };
};

/** The keys of each open object; null for an open array. */
type OpenContainers = (Set<string> | null)[];

/** Counts every `{`, `[` and `,`. */
export const jsonValuesMax = 100_000;

const tooMany = `More than ${jsonValuesMax} values.`;

/** Assumes nothing about the text: JSON.parse refuses invalid JSON afterwards. */
const scan = (text: string, depthMax: number): string | null => {
  const open: OpenContainers = [];
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case brace:
      case bracket:
        if (open.length >= depthMax) return `Nested deeper than ${depthMax} levels.`;
        if (++values > jsonValuesMax) return tooMany;
        open.push(text.charCodeAt(at) === brace ? new Set() : null);
        break;
      case comma:
        if (++values > jsonValuesMax) return tooMany;
        break;
      case braceEnd:
      case bracketEnd:
        open.pop();
        break;
      case quote: {
        const end = endOfString(text, at);
        const keys = open.at(-1);
        if (keys instanceof Set && isKey(text, end)) {
          const problem = addKey(keys, text.slice(at, end + 1));
          if (problem !== null) return problem;
        }
        at = end;
      }
    }
  }
  return null;
};

const [brace, braceEnd, bracket, bracketEnd] = [0x7b, 0x7d, 0x5b, 0x5d];
const [quote, backslash, colon, comma] = [0x22, 0x5c, 0x3a, 0x2c];

/** The position of the closing quote, or the length of the text if there is none. */
export const endOfString = (text: string, start: number): number => {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) return at;
  }
  return text.length;
};

export const isKey = (text: string, end: number): boolean => {
  let at = end + 1;
  while (' \t\n\r'.includes(text[at] ?? 'x')) at++;
  return text.charCodeAt(at) === colon;
};

/** The problem with this key of an object, if there is one. */
export const addKey = (keys: Set<string>, quoted: string): string | null => {
  const key = quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
  if (key === '__proto__') return '`__proto__` cannot be a key.';
  if (keys.has(key)) return `Duplicate key ${JSON.stringify(key.slice(0, 80))}.`;
  keys.add(key);
  return null;
};
