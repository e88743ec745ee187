// JSON from strangers: the engine's parser, behind a scan for what it lets pass or would choke on.
//
//   S1. A key that is given twice is refused: two readers of one request must not see two different ones.
//   S2. What is nested too deep, or names a prototype, never becomes an object.
//   S3. How many values there are is bounded: whatever is done with each of them, a text of some megabytes does not take seconds.
import type { Json } from './json.ts';

export type StrictJson = { readonly value: Json } | { readonly problem: string };

export const parseStrictJson = (text: string, depthMax: number): StrictJson => {
  let value: Json;
  try {
    const problem = scan(text, depthMax);
    if (problem !== null) return { problem };
    value = JSON.parse(text) as Json;
  } catch {
    // The engine's words quote what stands around the mistake.
    return { problem: 'It is not JSON.' };
  }
  return { value };
};

/** Keys of the objects that are open; null for a list. */
type Open = (Set<string> | null)[];

/** Objects, lists, and what follows another in them. */
const valuesMax = 100_000;

const tooMany = `It has more than ${valuesMax} values.`;

/** Assumes nothing about the text: whatever is no JSON, the parser refuses afterwards. */
const scan = (text: string, depthMax: number): string | null => {
  const open: Open = [];
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case brace:
      case bracket:
        if (open.length >= depthMax) return `It is nested deeper than ${depthMax} levels.`;
        if (++values > valuesMax) return tooMany;
        open.push(text.charCodeAt(at) === brace ? new Set() : null);
        break;
      case comma:
        if (++values > valuesMax) return tooMany;
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

/** Where the closing quote is; past the end when there is none. */
const endOfString = (text: string, start: number): number => {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) return at;
  }
  return text.length;
};

const isKey = (text: string, end: number): boolean => {
  let at = end + 1;
  while (' \t\n\r'.includes(text[at] ?? 'x')) at++;
  return text.charCodeAt(at) === colon;
};

const addKey = (keys: Set<string>, quoted: string): string | null => {
  const key = quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
  if (key === '__proto__') return '`__proto__` cannot be a key.';
  if (keys.has(key)) return `The key ${JSON.stringify(key.slice(0, 80))} is given twice.`;
  keys.add(key);
  return null;
};
