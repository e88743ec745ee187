// How many tokens a model may count for a text: the estimate behind every hold, a pure function of the text.
//
//   estimate-linear. With a fixed cost for each kind of characters. Nothing is learnt from replies or other cells.
//   estimate-measured. `npm run bench -- token-estimate` compares the costs with real tokenizers for each kind of text.
//   estimate-versioned. A hold is recorded and computed again by replay and audit, so a change of any figure needs another
//       version.

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
  [0x1f_ff, 210], // polytonic Greek
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

/** Costs of the letters of a word, by their place in it; from the thirteenth on they are equal. */
const lowerCosts = Uint8Array.from({ length: 14 }, (_, place) => {
  if (place <= 1) return costs.word;
  if (place <= 3) return 0;
  if (place <= 6) return costs.letter;
  return place <= 12 ? costs.laterLetter : costs.lateLetter;
});

/** How often letters, capitals and digits may alternate in words and names. */
const changesMax = 4;

/** The estimate for what is written in this JSON. An escape counts as the character it stands for. */
export const estimatePromptTokens = (json: string): number => {
  const { length } = json;
  let cost = 0;
  let before = other;
  let last = 0;
  /** How many marks or spaces are in a row, or letters in a word. */
  let run = 0;
  /** How often letters, capitals and digits have alternated in this piece of text. */
  let changes = 0;
  for (let at = 0; at < length; at++) {
    let code = json.charCodeAt(at);
    if (code === 92) code = escapes[json[++at] ?? ''] ?? 34;
    const kind = code < 128 ? asciiKinds[code]! : isAccented(code) ? lower : other;
    switch (kind) {
      case lower:
      case upper: {
        const isWithin = before === upper || (before === lower && kind === lower);
        if (before === digit || (before === lower && kind === upper)) changes++;
        run = isWithin ? run + 1 : 1;
        if (changes > changesMax) cost += costs.random;
        else if (run > 12 && code === last) cost += costs.repeated;
        else if (kind === upper && run > 1 && run <= 12) cost += costs.capital;
        else cost += lowerCosts[run > 13 ? 13 : run]!;
        if (code >= 128) cost += code <= 0x02_4f ? costs.accent : costs.rareAccent;
        break;
      }
      case digit:
        if (before === lower || before === upper) changes++;
        cost += changes > changesMax ? costs.random : costs.digit;
        break;
      case mark:
        if (isInRandomText[code] === 0) changes = 0;
        run = before === mark ? run + 1 : 1;
        if (run === 1) cost += costs.mark;
        else if (code === last) cost += costs.repeated;
        else cost += run > 3 ? costs.lateMark : costs.nextMark;
        break;
      case space:
        changes = 0;
        run = before === space ? run + 1 : 1;
        if (run === 2) cost += costs.indent;
        break;
      case line:
        changes = 0;
        cost += before === line ? costs.repeated : costs.line;
        break;
      default:
        cost += scriptCosts[code >> 4]!;
    }
    before = kind;
    last = code;
  }
  return Math.ceil(cost / token);
};

/** Letters of European languages and of Vietnamese, beyond ASCII. */
const isAccented = (code: number): boolean => code <= 0x02_4f || (code >= 0x1e_00 && code <= 0x1e_ff);
