// Translates the patterns of JSON Schemas (ECMAScript with the flag `u`) for re2js, whose time is linear.
//
//   pattern-same-matches. A translated pattern matches exactly the texts that the original matches.
//   pattern-never-approximated. What has no translation is refused, never approximated: look-around, back-references,
//       modifiers, some properties.
//
// No group is captured and nothing is lazy: only whether a pattern matches is asked.

/** `cost`: about how large the compiled pattern is, with counted repetitions written out. */
export type Translation =
  | { readonly text: string; readonly cost: number; readonly length: CountedLength | null }
  | { readonly refused: string };

/** A pattern such as `^[a-z]{1,500}$` is translated as `^[a-z]*$` and a length, which costs less than 500 copies. */
export type CountedLength = { readonly min: number; readonly max: number };

/** The pattern must be valid with the flag `u`. */
export const translatePattern = (pattern: string): Translation => {
  try {
    return new PatternTranslator(pattern).translate();
  } catch (error) {
    if (error instanceof Refusal) return { refused: error.message };
    throw error;
  }
};

class Refusal extends Error {}

type Range = readonly [from: number, to: number];

const last = 0x10ffff;
const digits: readonly Range[] = [[0x30, 0x39]];
const wordChars: readonly Range[] = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
];
const spaces: readonly Range[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];
const lineEnds: readonly Range[] = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
];

const othersThan = (ranges: readonly Range[]): readonly Range[] => {
  const starts = [0, ...ranges.map(([, to]) => to + 1)];
  return starts.map((from, at): Range => [from, (ranges[at]?.[0] ?? last + 1) - 1]).filter(([from, to]) => from <= to);
};

const classes: ReadonlyMap<string, readonly Range[]> = new Map([
  ['d', digits],
  ['D', othersThan(digits)],
  ['w', wordChars],
  ['W', othersThan(wordChars)],
  ['s', spaces],
  ['S', othersThan(spaces)],
]);

const controls: ReadonlyMap<string, number> = new Map([
  ['t', 0x09],
  ['n', 0x0a],
  ['v', 0x0b],
  ['f', 0x0c],
  ['r', 0x0d],
  ['0', 0],
]);

const showChar = (code: number): string => `\\x{${code.toString(16)}}`;
const showRanges = (ranges: readonly Range[]): string =>
  ranges.map(([from, to]) => (from === to ? showChar(from) : `${showChar(from)}-${showChar(to)}`)).join('');
const [nothing, everything] = [`[^${showRanges([[0, last]])}]`, `[${showRanges([[0, last]])}]`];
const anyButLineEnds = `[^${showRanges(lineEnds)}]`;

/** Categories have two names, and re2js knows the short ones. */
const categories: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ASCII: 'Ascii',
    Letter: 'L',
    Cased_Letter: 'LC',
    Uppercase_Letter: 'Lu',
    Lowercase_Letter: 'Ll',
    Titlecase_Letter: 'Lt',
    Modifier_Letter: 'Lm',
    Other_Letter: 'Lo',
    Mark: 'M',
    Combining_Mark: 'M',
    Nonspacing_Mark: 'Mn',
    Spacing_Mark: 'Mc',
    Enclosing_Mark: 'Me',
    Number: 'N',
    Decimal_Number: 'Nd',
    digit: 'Nd',
    Letter_Number: 'Nl',
    Other_Number: 'No',
    Punctuation: 'P',
    punct: 'P',
    Symbol: 'S',
    Separator: 'Z',
    Space_Separator: 'Zs',
    Other: 'C',
    Control: 'Cc',
    cntrl: 'Cc',
    Format: 'Cf',
  }),
);

/** What a class of characters or an escape stands for. */
type Atom = { readonly code: number } | { readonly set: string };

/** An assertion and a bracket have no size of their own. */
type Group = { total: number; latest: number };

export const propertyCost = 40;
const repeatsMax = 1_000;

class PatternTranslator {
  readonly #source: string;
  readonly #out: string[] = [];
  readonly #groups: Group[] = [{ total: 0, latest: 0 }];
  #at = 0;
  #properties = 0;
  /** For `CountedLength`: the count of the quantifier that was written last. */
  #counted: { readonly place: number; readonly min: number; readonly max: number } | null = null;

  constructor(source: string) {
    this.#source = source;
  }

  translate(): Translation {
    while (this.#at < this.#source.length) this.#next();
    const whole = this.#wholeCount();
    if (whole !== null) this.#out[2] = '*';
    const size = whole === null ? this.#groups[0]!.total : 4;
    return {
      text: this.#out.join(''),
      cost: size + this.#source.length + this.#properties * propertyCost,
      length: whole,
    };
  }

  #wholeCount(): CountedLength | null {
    const out = this.#out;
    if (out.length !== 4 || out[0] !== '^' || out[3] !== '$' || this.#counted?.place !== 2) return null;
    const { min, max } = this.#counted;
    return { min, max };
  }

  #next(): void {
    const char = this.#source[this.#at]!;
    switch (char) {
      case '(':
        this.#openGroup();
        break;
      case ')': {
        const { total } = this.#groups.pop()!;
        this.#out.push(')');
        this.#grow(total);
        this.#at++;
        break;
      }
      case '|':
      case '^':
      case '$':
        this.#out.push(char);
        this.#grow(1);
        this.#at++;
        break;
      case '*':
      case '+':
      case '?':
        this.#at++;
        this.#repeat(char, char === '+' ? 2 : 1);
        break;
      case '{':
        this.#repeatCounted();
        break;
      case '.':
        this.#add(anyButLineEnds);
        this.#at++;
        break;
      case '[':
        this.#add(this.#class());
        break;
      case '\\':
        this.#escape();
        break;
      default:
        this.#add(showChar(this.#char()));
    }
  }

  #add(text: string): void {
    this.#out.push(text);
    this.#grow(1);
  }

  #grow(size: number): void {
    const group = this.#groups.at(-1)!;
    group.total += size;
    group.latest = size;
  }

  #openGroup(): void {
    const rest = this.#source.slice(this.#at, this.#at + 4);
    if (/^\(\?<?[=!]/u.test(rest))
      throw new Refusal(
        `uses a look-${rest[2] === '<' ? 'behind' : 'ahead'} "${rest.slice(0, rest[2] === '<' ? 4 : 3)}"`,
      );
    if (/^\(\?[ims-]/u.test(rest)) throw new Refusal(`uses a modifier "${rest.slice(0, 3)}"`);
    if (rest.startsWith('(?<')) this.#at = this.#source.indexOf('>', this.#at) + 1;
    else this.#at += rest.startsWith('(?:') ? 3 : 1;
    this.#out.push('(?:');
    this.#groups.push({ total: 0, latest: 0 });
  }

  #repeat(text: string, times: number): void {
    if (this.#source[this.#at] === '?') this.#at++;
    this.#out.push(text);
    const group = this.#groups.at(-1)!;
    group.total += group.latest * (times - 1) + times;
    group.latest = group.latest * times + times;
  }

  #repeatCounted(): void {
    const end = this.#source.indexOf('}', this.#at);
    const [min = 0, max = min] = this.#source
      .slice(this.#at + 1, end)
      .split(',')
      .map((count) => (count === '' ? Infinity : Number(count)));
    this.#at = end + 1;
    const more = max === Infinity ? '' : max;
    this.#counted = { place: this.#out.length, min, max };
    this.#repeat(min === max ? `{${min}}` : `{${min},${more}}`, Math.max(1, max === Infinity ? min + 1 : max));
    if (Math.max(min, max === Infinity ? 0 : max) > repeatsMax && !this.#isWhole())
      throw new Refusal(`repeats a part more than ${repeatsMax} times`);
  }

  /** Whether only the final `$` is missing from a pattern such as `^[a-z]{1,500}$`. */
  #isWhole(): boolean {
    return this.#out.length === 3 && this.#out[0] === '^' && this.#source.slice(this.#at) === '$';
  }

  /** One character, which can be a pair of surrogates. */
  #char(): number {
    const code = this.#source.codePointAt(this.#at)!;
    this.#at += code > 0xffff ? 2 : 1;
    return code;
  }

  #escape(): void {
    const char = this.#source[this.#at + 1]!;
    if (char === 'b' || char === 'B') {
      this.#add(`\\${char}`);
      this.#at += 2;
      return;
    }
    if (char === 'k' || /[1-9]/u.test(char)) throw new Refusal(`uses a back-reference "\\${char}"`);
    const atom = this.#atom();
    this.#add('code' in atom ? showChar(atom.code) : `[${atom.set}]`);
  }

  #atom(): Atom {
    if (this.#source[this.#at] !== '\\') return { code: this.#char() };
    const char = this.#source[this.#at + 1]!;
    this.#at += 2;
    const ranges = classes.get(char);
    if (ranges !== undefined) return { set: showRanges(ranges) };
    const control = controls.get(char);
    if (control !== undefined) return { code: control };
    switch (char) {
      case 'p':
      case 'P':
        return { set: `\\${char}{${this.#property()}}` };
      case 'c':
        return { code: this.#source.charCodeAt(this.#at++) % 32 };
      case 'x':
        return { code: this.#hex(2) };
      case 'u':
        return { code: this.#unicode() };
      // Only within a class.
      case 'b':
        return { code: 0x08 };
      default:
        this.#at--;
        return { code: this.#char() };
    }
  }

  #property(): string {
    const end = this.#source.indexOf('}', this.#at);
    const text = this.#source.slice(this.#at + 1, end);
    this.#at = end + 1;
    this.#properties++;
    const [, kind = '', name = text] = /^(gc|General_Category|sc|Script|scx|Script_Extensions)=(.*)$/u.exec(text) ?? [];
    if (kind.startsWith('scx') || kind === 'Script_Extensions') throw new Refusal(`uses the property "${text}"`);
    return categories.get(name) ?? name;
  }

  #hex(length: number): number {
    const code = Number.parseInt(this.#source.slice(this.#at, this.#at + length), 16);
    this.#at += length;
    return code;
  }

  #unicode(): number {
    if (this.#source[this.#at] === '{') {
      const end = this.#source.indexOf('}', this.#at);
      const code = Number.parseInt(this.#source.slice(this.#at + 1, end), 16);
      this.#at = end + 1;
      return code;
    }
    const first = this.#hex(4);
    const pair = /^\\u(d[c-f][\da-f]{2})/iu.exec(this.#source.slice(this.#at, this.#at + 6));
    if (first < 0xd800 || first > 0xdbff || pair === null) return first;
    this.#at += 6;
    return 0x1_0000 + (first - 0xd800) * 0x400 + (Number.parseInt(pair[1]!, 16) - 0xdc00);
  }

  #class(): string {
    const negated = this.#source[this.#at + 1] === '^';
    this.#at += negated ? 2 : 1;
    const parts: string[] = [];
    while (this.#source[this.#at] !== ']') {
      const from = this.#atom();
      if ('set' in from) parts.push(from.set);
      else if (this.#source[this.#at] === '-' && this.#source[this.#at + 1] !== ']') {
        this.#at++;
        const to = this.#atom();
        parts.push(`${showChar(from.code)}-${showChar('code' in to ? to.code : from.code)}`);
      } else parts.push(showChar(from.code));
    }
    this.#at++;
    if (parts.length === 0) return negated ? everything : nothing;
    return `[${negated ? '^' : ''}${parts.join('')}]`;
  }
}
