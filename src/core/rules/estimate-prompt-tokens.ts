// How many tokens a model may count for a text: the bound behind every hold, a pure function of the text.
//
//   E1. Linear in the text, with a fixed cost for each kind of characters. Nothing is learnt from replies or other cells.
//   E2. The costs are measured: `npm run bench -- token-estimate` compares them with real tokenizers for each kind of text.
//   E3. A hold is recorded and computed again by replay and audit, so a change of any figure needs another version.

/** Costs are in hundredths of a token. */
const token = 100;

const costs = {
  /** A word of up to three letters; then its fourth to sixth letter, the seventh to twelfth, and the rest. */
  word: 100,
  letter: 33,
  laterLetter: 62,
  lateLetter: 60,
  capital: 34,
  /** A letter with an accent, besides its cost as a letter. */
  accent: 104,
  rareAccent: 140,
  digit: 63,
  /** Each character of text that looks random: base64, hexadecimal numbers, keys. */
  random: 82,
  mark: 95,
  /** The second and third of several marks in a row, then the rest. */
  nextMark: 40,
  lateMark: 72,
  repeated: 32,
  line: 105,
  indent: 105,
} as const;

/** For other scripts: the end of each range of code units, and the cost of one of them. */
const scripts: readonly (readonly [end: number, cost: number])[] = [
  [0x03_6f, 150], // modifiers and combining marks
  [0x03_ff, 115], // Greek
  [0x05_2f, 66], // Cyrillic
  [0x05_8f, 200], // Armenian
  [0x05_ff, 140], // Hebrew
  [0x06_ff, 108], // Arabic
  [0x08_ff, 250],
  [0x09_7f, 140], // Devanagari
  [0x0d_ff, 250], // other scripts of India
  [0x0e_7f, 115], // Thai
  [0x1d_ff, 300],
  [0x1f_ff, 210], // Greek with accents of old
  [0x20_6f, 120], // quotation marks and dashes
  [0x2b_ff, 220], // symbols, arrows
  [0x2f_ff, 300],
  [0x30_3f, 120], // Chinese and Japanese marks
  [0x30_ff, 125], // Japanese
  [0x4d_ff, 300],
  [0x9f_ff, 145], // Chinese
  [0xab_ff, 300],
  [0xd7_ff, 145], // Korean
  [0xdf_ff, 170], // half of an emoji, or of a rare character
  [0xfe_ff, 300],
  [0xff_ff, 130], // wide forms
];

/** The costs by code unit, sixteen to an entry. */
const scriptCosts = Uint16Array.from({ length: 0x10_00 }, (_, block) => scripts.find(([end]) => block * 16 <= end)![1]);

const other = 0;
const lower = 1;
const upper = 2;
const digit = 3;
const mark = 4;
const space = 5;
const line = 6;

const asciiKinds = Uint8Array.from({ length: 128 }, (_, code) => {
  if (code >= 97 && code <= 122) return lower;
  if (code >= 65 && code <= 90) return upper;
  if (code >= 48 && code <= 57) return digit;
  if (code === 10 || code === 13) return line;
  return code === 32 || code === 9 ? space : mark;
});

/** The marks in base64, in its form for addresses, and in ids. */
const isInRandomText = Uint8Array.from({ length: 128 }, (_, code) =>
  '+/=_-'.includes(String.fromCharCode(code)) ? 1 : 0,
);

/** The characters that a backslash stands for in JSON. */
const escapes: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9 };

/** The estimate for what is written in this JSON. An escape counts as the character it stands for. */
export const estimatePromptTokens = (json: string): number => new Estimate(json).tokens();

class Estimate {
  readonly #json: string;
  #cost = 0;
  #kind = other;
  /** How many characters of the same kind are in a row, or letters in a word. */
  #run = 0;
  /** How often letters, capitals and digits have alternated in this piece of text. Words and names seldom do. */
  #changes = 0;
  #last = 0;

  constructor(json: string) {
    this.#json = json;
  }

  tokens(): number {
    const json = this.#json;
    const { length } = json;
    for (let at = 0; at < length; at++) {
      let code = json.charCodeAt(at);
      if (code === 92) code = escapes[json[++at] ?? ''] ?? 34;
      if (code < 128) this.#addAscii(code);
      else this.#addOther(code);
      this.#last = code;
    }
    return Math.ceil(this.#cost / token);
  }

  #addAscii(code: number): void {
    const kind = asciiKinds[code]!;
    switch (kind) {
      case lower:
      case upper:
        return this.#addLetter(code, kind);
      case digit:
        if (this.#kind === lower || this.#kind === upper) this.#changes++;
        this.#cost += this.#changes > changesMax ? costs.random : costs.digit;
        break;
      case space:
        this.#changes = 0;
        this.#run = this.#kind === space ? this.#run + 1 : 1;
        this.#cost += this.#run === 2 ? costs.indent : 0;
        break;
      case line:
        this.#changes = 0;
        this.#cost += this.#kind === line ? costs.repeated : costs.line;
        break;
      default:
        this.#addMark(code);
    }
    this.#kind = kind;
  }

  #addLetter(code: number, kind: number): void {
    const before = this.#kind;
    const isNew = before !== lower && before !== upper;
    if (before === digit || (before === lower && kind === upper)) this.#changes++;
    if (isNew || (before === lower && kind === upper)) this.#run = 0;
    this.#run++;
    this.#kind = kind;
    if (this.#changes > changesMax) this.#cost += costs.random;
    else if (this.#run === 1) this.#cost += costs.word;
    else if (this.#run > 12) this.#cost += code === this.#last ? costs.repeated : costs.lateLetter;
    else if (kind === upper) this.#cost += costs.capital;
    else if (this.#run > 3) this.#cost += this.#run > 6 ? costs.laterLetter : costs.letter;
  }

  #addMark(code: number): void {
    if (!isInRandomText[code]) this.#changes = 0;
    this.#run = this.#kind === mark ? this.#run + 1 : 1;
    if (this.#run === 1) this.#cost += costs.mark;
    else if (code === this.#last) this.#cost += costs.repeated;
    else this.#cost += this.#run > 3 ? costs.lateMark : costs.nextMark;
  }

  #addOther(code: number): void {
    if (code <= 0x02_4f || (code >= 0x1e_00 && code <= 0x1e_ff)) {
      this.#addLetter(code, lower);
      this.#cost += code <= 0x02_4f ? costs.accent : costs.rareAccent;
      return;
    }
    this.#kind = other;
    this.#cost += scriptCosts[code >> 4]!;
  }
}

const changesMax = 4;
