// Patterns on an engine whose time is linear in the text, so that no text can stall the process.
import { createRequire } from 'node:module';
import type * as Library from 're2js';
import { propertyCost, translatePattern } from './translate-pattern.ts';
import type { CountedLength, Translation } from './translate-pattern.ts';

/** Compiling takes some microseconds for each unit of cost. */
export const patternCostMax = 4_000;

let loaded: typeof Library | undefined;

/** Loading takes some milliseconds, and most schemas have no pattern. */
const loadEngine = (): typeof Library => (loaded ??= createRequire(import.meta.url)('re2js') as typeof Library);

export class Pattern {
  readonly #compiled: Library.RE2JS;
  readonly #length: CountedLength | null;
  /** Steps for each character of a text, and for its end. */
  readonly #size: number;

  constructor(text: string, length: CountedLength | null) {
    this.#compiled = loadEngine().RE2JS.compile(text);
    this.#length = length;
    this.#size = this.#compiled.programSize();
  }

  /** An upper bound: each instruction is looked at once for each character. */
  steps(text: string): number {
    return this.#size * (text.length + 1);
  }

  matches(text: string): boolean {
    // Unlike `test`, this keeps no table of states, which could grow to megabytes for each pattern.
    if (!this.#compiled.matcher(text).find()) return false;
    if (this.#length === null) return true;
    const count = countChars(text);
    return count >= this.#length.min && count <= this.#length.max;
  }
}

/** As the patterns of JSON Schemas count: a pair of surrogates is one character. */
export const countChars = (text: string): number => {
  let count = text.length;
  for (let at = 0; at < text.length - 1; at++)
    if (text.charCodeAt(at) >>> 10 === 0x36 && text.charCodeAt(at + 1) >>> 10 === 0x37) count--;
  return count;
};

/** What a pattern costs at least, known without reading it: its length, and the tables of Unicode that it names. */
export const readingCost = (source: string): number =>
  source.length + (source.match(/\\p\{/giu)?.length ?? 0) * propertyCost;

/** Translates a valid pattern, which is quick. `refused`: why it cannot be used here, as in "the pattern uses a look-ahead". */
export const readPattern = (source: string): Translation => {
  const translated = translatePattern(source);
  return 'cost' in translated && translated.cost > patternCostMax ? { refused: tooLarge } : translated;
};

export const compilePattern = (translated: Translation): Pattern | { readonly refused: string } => {
  if ('refused' in translated) return translated;
  try {
    return new Pattern(translated.text, translated.length);
  } catch (error) {
    return { refused: `is not supported: ${(error as Error).message.slice(0, 100)}` };
  }
};

export const tooLarge = `is too large: its length, with repetitions written out, is limited to ${patternCostMax}`;

/** What is wrong with a pattern whatever the engine; null when it is valid. */
export const patternSyntaxProblem = (source: string): string | null => {
  try {
    void new RegExp(source, 'u');
    return null;
  } catch (error) {
    return (error as Error).message;
  }
};
