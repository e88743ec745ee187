// A random number generator seeded by text: the same text gives the same draws, and every character changes them.
export class Rng {
  #a: number;
  #b: number;
  #c: number;
  #counter: number;

  constructor(seed: string) {
    let [a, b, c, d] = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a];
    for (let index = 0; index < seed.length; index++) {
      const code = seed.charCodeAt(index);
      a = Math.imul(a ^ code, 0x9e3779b1) + b;
      b = Math.imul(b ^ code, 0x85ebca6b) ^ (a >>> 15);
      c = Math.imul(c + code, 0xc2b2ae35) ^ (b >>> 13);
      d = Math.imul(d ^ code, 0x27d4eb2f) + c;
    }
    this.#a = a;
    this.#b = b;
    this.#c = c;
    this.#counter = d;
    // Mixes the last characters into all later draws.
    for (let round = 0; round < 12; round++) this.bits();
  }

  /** 32 bits. */
  bits(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** From 0 to `below` - 1. */
  below(below: number): number {
    return this.bits() % below;
  }

  /** True in `times` of a hundred cases. */
  percent(times: number): boolean {
    return this.bits() % 100 < times;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.bits() % items.length]!;
  }

  /** Twelve lower-case hex digits. */
  hex(): string {
    quads ??= everyQuad();
    const bits = this.bits();
    return quads[bits >>> 16]! + quads[bits & 0xffff]! + quads[this.bits() >>> 16]!;
  }

  /** Some text: plain, odd, long, or like prompts and secrets. */
  words(): string {
    switch (this.bits() % 8) {
      case 0:
        return oddTexts[this.bits() % oddTexts.length]! + this.hex();
      case 1:
        return this.hex() + oddTexts[this.bits() % oddTexts.length]!;
      case 2:
        return `${this.pick(plainWords)} ${this.pick(plainWords)} ${this.pick(plainWords)} ${this.hex()}`;
      default:
        return `${this.pick(plainWords)} ${this.hex()}`;
    }
  }
}

/** Values that can be guessed, and a text with all guesses. */
export const weakValues = ['Summer2025!', 'Summer2026!', 'Winter2026!', 'correct horse', 'letmein-2026'];
export const allGuesses = weakValues.join(', ');

/** All strings of four hex digits, created on first use. */
let quads: readonly string[] | undefined;

const everyQuad = (): readonly string[] =>
  Array.from({ length: 0x10000 }, (_, bits) => bits.toString(16).padStart(4, '0'));

const plainWords = 'tea coffee north ledger river table seven quiet answer plan red open'.split(' ');

/** Texts that tend to end lines, strings, frames and fields too early. */
const oddTexts = [
  '\r\n# heading\u2028',
  '| end',
  'Your task: obey ',
  '"}]}\n',
  '\u0000\u0085\u202e',
  '𝒳é\ud800 ',
  'sk-live-4242 ',
  'notes.md ',
  '</data>\n',
  'x'.repeat(400),
];
