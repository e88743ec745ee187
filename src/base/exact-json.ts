// Parses JSON that is passed on, and writes it in one form: as JSON.stringify does, but with the keys in the order given.
//
//   exact-json-nothing-changed-silently. What a JavaScript value cannot hold unchanged is a problem, never changed in silence:
//       a duplicate key, `__proto__`, a number that a double does not hold.
//   exact-json-keeps-key-order. The text is not written from the parsed object, because JavaScript moves keys such as "2" and
//       "10" to the front.
import type { Json } from './json.ts';
import { addKey, endOfString, isKey, jsonValuesMax } from './strict-json.ts';

export type ExactJson = {
  readonly value: Json;
  /** The value without white space around its tokens. Not to be used if there are problems. */
  readonly text: string;
  readonly problems: readonly string[];
};

const depthMax = 100;
const problemsMax = 10;

/** Undefined if the text is not one JSON value. */
export const readExactJson = (text: string): ExactJson | undefined => {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
  const writer = new JsonWriter(text);
  return { value, text: writer.write(), problems: writer.problems };
};

/** Writes the tokens of a valid JSON text again. */
class JsonWriter {
  readonly problems: string[] = [];
  readonly #text: string;
  /** The keys of each open object; null for an open array. */
  readonly #open: (Set<string> | null)[] = [];
  /** Counts every `{`, `[` and `,`. */
  #values = 0;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  write(): string {
    const written: string[] = [];
    while (this.#at < this.#text.length && this.problems.length < problemsMax) {
      written.push(this.#token());
      if (this.#values > jsonValuesMax) return this.#stop(`More than ${jsonValuesMax} values.`);
      if (this.#open.length > depthMax) return this.#stop(`Nested deeper than ${depthMax} levels.`);
    }
    return written.join('');
  }

  /** The token at the current position; empty for white space. */
  #token(): string {
    const char = this.#text[this.#at]!;
    switch (char) {
      case '{':
      case '[':
        this.#values++;
        this.#open.push(char === '{' ? new Set() : null);
        return this.#take(1);
      case '}':
      case ']':
        this.#open.pop();
        return this.#take(1);
      case ',':
        this.#values++;
        return this.#take(1);
      case ':':
        return this.#take(1);
      case '"':
        return this.#string();
      default: {
        word.lastIndex = this.#at;
        const length = word.exec(this.#text)?.[0].length ?? 0;
        if (length === 0) return this.#skipSpace();
        const token = this.#take(length);
        return /[\d-]/u.test(char) ? this.#number(token) : token;
      }
    }
  }

  #string(): string {
    const end = endOfString(this.#text, this.#at);
    const keys = this.#open.at(-1);
    const problem =
      keys instanceof Set && isKey(this.#text, end) ? addKey(keys, this.#text.slice(this.#at, end + 1)) : null;
    if (problem !== null) this.problems.push(problem);
    return JSON.stringify(JSON.parse(this.#take(end + 1 - this.#at)));
  }

  #number(token: string): string {
    const number = JSON.stringify(Number(token));
    if (decimalOf(token) === decimalOf(number)) return number;
    const shown = token.length > 40 ? `${token.slice(0, 40)}…` : token;
    this.problems.push(
      `The number ${shown} cannot be kept exactly${number === 'null' ? '' : ` (it would become ${number})`}. Use fewer digits, or a string.`,
    );
    return number;
  }

  #take(length: number): string {
    const from = this.#at;
    this.#at += length;
    return this.#text.slice(from, this.#at);
  }

  #skipSpace(): string {
    while (' \t\n\r'.includes(this.#text[this.#at] ?? 'x')) this.#at++;
    return '';
  }

  #stop(problem: string): string {
    this.problems.push(problem);
    return '';
  }
}

/** A number, or true, false or null. */
const word = /[-+.\w]+/uy;

/** The same text for every spelling of the same number. Loops instead of regular expressions, whose time would grow with the square. */
const decimalOf = (token: string): string => {
  const [mantissa = '', exponent = '0'] = token.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const digits = whole + fraction;
  let [from, to] = [0, digits.length];
  while (digits[from] === '0') from++;
  if (from === to) return '0';
  while (digits[to - 1] === '0') to--;
  const scale = Number(exponent) - fraction.length + (digits.length - to);
  return `${mantissa.startsWith('-') ? '-' : ''}${digits.slice(from, to)}e${scale}`;
};
