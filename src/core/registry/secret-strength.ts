// Which values nobody can guess. Only those may be redacted where others can watch: whoever sees that a text is replaced has
// confirmed a guess, so a value that can be guessed would be given away by its own redaction.
//
//   secret-judged-in-parts. Each by itself: lines, words, the fields of a URL, of JSON and of `name=value` lists. Whoever
//       knows all parts but one has only that one left to guess.
//   secret-strong-part. A part is strong if it has at least 20 characters and an estimated 64 bits.
//   secret-strong-charset. A strong part consists of printable ASCII characters without spaces. Streams rely on this: they
//       hold back the word that is being written, whether or not a secret begins like it.
//   secret-words-count-nothing. Characters of words, names, years, dates, repeats and keyboard sequences count as no bits at
//       all.
//   secret-estimate-pure. The same in every process, for every agent.

export const strongCharsMin = 20;
export const strongBitsMin = 64;

/** The parts of a value that nobody can guess, each once. Empty: the value is weak. */
export const strongParts = (value: string): readonly string[] => [
  ...new Set(splitParts(value).filter((part) => isStrong(part))),
];

const isStrong = (part: string): boolean => {
  if ([...part].length < strongCharsMin || estimateBits(part) < strongBitsMin) return false;
  // `dXNlcjpTdW1tZXIyMDI2IQ==` looks random, but is only as hard to guess as the text that it encodes.
  const decoded = decodeText(part);
  return decoded === null || strongParts(decoded).length > 0;
};

// ---- parts

const splitParts = (value: string): readonly string[] => {
  const fields = jsonTexts(value);
  if (fields !== null) return fields.flatMap(splitParts);
  return splitWords(value)
    .flatMap((word) => (isUrl(word) ? word.split(/[/?#@&=:;,]+/u) : splitPairs(word)))
    .filter((part) => part !== '');
};

/** Without the characters between words, which no strong part contains: see `secret-strong-charset`. */
export const splitWords = (value: string): readonly string[] => value.split(/[^\x21-\x7e]+/u);

const isUrl = (word: string): boolean => /^[a-z][a-z0-9+.-]*:\/\//iu.test(word);

/** `user:password`, `name=value`, and lists of those. The `=` at the end of base64 separates nothing. */
const splitPairs = (word: string): readonly string[] => {
  const [, name, value = ''] = /^["']?([\w.-]+)["']?[:=](.*[^=].*)$/su.exec(word) ?? [];
  if (name === undefined) return [word];
  return [
    name,
    ...value.split(/[;&,](?=["']?[\w.-]+["']?[:=])/u).flatMap((one, index) => (index === 0 ? [one] : splitPairs(one))),
  ];
};

/** The names and texts in JSON; null if the value is something else. */
const jsonTexts = (value: string): readonly string[] | null => {
  if (!/^\s*[[{]/u.test(value)) return null;
  const texts: string[] = [];
  try {
    JSON.parse(value, (key: string, one: unknown) => {
      texts.push(key);
      if (typeof one === 'string' || typeof one === 'number') texts.push(String(one));
      return null;
    });
  } catch {
    return null;
  }
  return texts;
};

/** The text that a part encodes in base64 or hex; null if the bytes are not plain text. */
const decodeText = (part: string): string | null => {
  const encodings = [
    ['hex', /^(?:[0-9a-f]{2})+$/iu],
    ['base64', /^[\w+/-]+={0,2}$/u],
  ] as const;
  for (const [encoding, pattern] of encodings) {
    if (!pattern.test(part)) continue;
    const text = Buffer.from(part, encoding).toString('latin1');
    if (/^[\t\r\n\x20-\x7e]+$/u.test(text)) return text;
  }
  return null;
};

// ---- bits

/** How many bits a part has if everything that can be guessed in it is known. */
export const estimateBits = (part: string): number => {
  // probe: secret-guessed
  const guessed = guessedPositions(part);
  let bits = 0;
  for (const { 0: chunk, index } of part.matchAll(/[^-._/:@=&?,;+\s"'()]+/gu)) {
    // Abbreviations and numbers between separators: `db`, `k8s`, `12`.
    if (chunk.length <= 3) continue;
    const counted = Array.from(chunk.split('').keys()).filter((at) => !guessed.has(index + at)).length;
    bits += counted * Math.log2(alphabetSize(chunk));
  }
  return bits;
};

const alphabetSize = (chunk: string): number => {
  if (/^(?:[0-9a-f]+|[0-9A-F]+)$/u.test(chunk)) return /^\d+$/u.test(chunk) ? 10 : 16;
  const classes = [
    [/\d/u, 10],
    [/[a-z]/u, 26],
    [/[A-Z]/u, 26],
    [/[^A-Za-z0-9]/u, 32],
  ] as const;
  return classes.reduce((sum, [pattern, size]) => sum + (pattern.test(chunk) ? size : 0), 0);
};

/** The positions of all characters that follow from what is easy to guess. */
const guessedPositions = (part: string): ReadonlySet<number> => {
  const guessed = new Set<number>();
  const add = (start: number, length: number): void => {
    for (let at = start; at < start + length; at++) guessed.add(at);
  };
  for (const { 0: run, index } of part.matchAll(/[\p{L}\p{M}]{3,}/gu)) if (isWord(run)) add(index, run.length);
  for (const { 0: run, index } of part.matchAll(/[a-z0-9$!]{5,}/giu)) if (isDisguisedWord(run)) add(index, run.length);
  for (const { 0: run, index } of part.matchAll(/\d+/gu)) if (isDate(run)) add(index, run.length);
  const lower = part.toLowerCase();
  const seen = new Set<string>();
  for (let at = 2; at < lower.length; at++) {
    const three = lower.slice(at - 2, at + 1);
    if (seen.has(three)) add(at, 1);
    if (isSequence(three)) add(at - 2, 3);
    // Two sequences in turn: `a1b2c3`.
    const [even, odd] = [0, 1].map((first) => [4, 2, 0].map((back) => lower.charAt(at - back - first)).join(''));
    if (at >= 5 && isSequence(even!) && isSequence(odd!)) add(at - 5, 6);
    seen.add(three);
  }
  return guessed;
};

/** A share of common letter pairs that random letters hardly ever reach, in the usual mix of capitals. */
const isWord = (run: string): boolean => {
  const letters = run.normalize('NFD').replaceAll(/\p{M}/gu, '');
  // No generator of keys uses letters beyond ASCII.
  if (!/^[a-z]*$/iu.test(letters)) return true;
  return hasUsualCapitals(letters) && commonShare(letters.toLowerCase()) > 0.7;
};

/** As in a word, a title, or a sentence in which some words are shouted. */
const hasUsualCapitals = (letters: string): boolean => {
  if (/^(?:[A-Z]+|[A-Z]?[a-z]+(?:[A-Z][a-z]+)*)$/u.test(letters)) return true;
  const changes = letters.match(/[a-z](?=[A-Z])|[A-Z](?=[a-z])/gu)?.length ?? 0;
  return letters.length >= 12 && changes * 4 <= letters.length;
};

const commonShare = (letters: string): number => {
  let common = 0;
  for (let at = 1; at < letters.length; at++) if (commonPairs.has(letters.slice(at - 1, at + 1))) common++;
  return common / (letters.length - 1);
};

const disguises: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  $: 's',
  '!': 'i',
};

/** A word in which a few letters are written as digits: `P4ssw0rd`. */
const isDisguisedWord = (run: string): boolean => {
  const plain = run.replaceAll(/[013457$!]/gu, (sign) => disguises[sign]!);
  const signs = run.replaceAll(/[a-z]/giu, '').length;
  return signs > 0 && signs * 3 <= run.length && /^[a-z]+$/iu.test(plain) && isWord(plain);
};

/** A year; or a date, as the digits of day, month and year in any order. */
const isDate = (digits: string): boolean =>
  /^(?:19|20)\d\d$/u.test(digits) ||
  /^(?:(?:19|20)\d\d(?:0\d|1[0-2])[0-3]\d|[0-3]\d[0-3]\d(?:19|20)\d\d)$/u.test(digits) ||
  /^(?:\d\d(?:0\d|1[0-2])[0-3]\d|[0-3]\d[0-3]\d\d\d)$/u.test(digits);

/** Three characters that are equal, follow one another, or are neighbours on a keyboard. */
const isSequence = (three: string): boolean => {
  const [one, two, last] = [0, 1, 2].map((at) => three.charCodeAt(at)) as [number, number, number];
  if (two - one === last - two && Math.abs(two - one) <= 1) return true;
  const back = three.split('').toReversed().join('');
  return keyboardRows.some((row) => row.includes(three) || row.includes(back));
};

// What guesses are made of: pairs of letters that are common in words and names, and the rows of keyboards.

/** First a letter, then those that often follow it, in English and in European names. */
const followers = `abcdgiklmnprstuvwxyz baeilorsuby cacehiklortuyz daeiorsudy eabcdefgiklmnoprstvwxy faefioru gaehiorsugl haeimortu
  iabcdefgklmnoprstvz jaeou kaeiknorsuy labdeiklostuvy mabeimopsuy nacdegikmnostuyz oabcdfgiklmnoprstuvwy paehiloprstuy qu
  racdegiklmnorstuvyz sacehiklmopstuwyz taehilorstuwyz uabcdegilmnoprsty vaeior waehinors xpeiat yaelnost zaceiotuyz`;

const commonPairs: ReadonlySet<string> = new Set(
  followers.split(/\s+/u).flatMap((group) =>
    group
      .slice(1)
      .split('')
      .map((letter) => group.charAt(0) + letter),
  ),
);

/** Also the columns, with and without Shift: `1qaz2wsx` is among the first guesses. */
const keyboardRows = (
  '1234567890 qwertyuiop asdfghjkl zxcvbnm qwertzuiop yxcvbnm azerty ' +
  '1qaz 2wsx 3edc 4rfv 5tgb 6yhn 7ujm !qaz @wsx #edc $rfv %tgb ^yhn &ujm'
).split(' ');
