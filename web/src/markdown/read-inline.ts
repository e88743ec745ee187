// Emphasis, code, links and pictures within a paragraph, as CommonMark and GitHub read them.
//
//   inline-linear. The text is foreign: whatever it holds, reading it takes time in proportion to its length.
import { decodeEntities } from './entities.ts';

export type Inline =
  | string
  | { readonly type: 'strong' | 'em' | 'del'; readonly of: readonly Inline[] }
  | { readonly type: 'code'; readonly text: string }
  | { readonly type: 'br' }
  | { readonly type: 'box'; readonly isTicked: boolean }
  | { readonly type: 'link'; readonly href: string; readonly of: readonly Inline[] }
  | { readonly type: 'image'; readonly href: string; readonly text: string };

/** Addresses by label. */
export type LinkDefinitions = ReadonlyMap<string, string>;

/** Signs that may turn out to begin or end emphasis. */
type Delimiter = {
  readonly type: 'delimiter';
  readonly sign: string;
  readonly length: number;
  left: number;
  readonly opens: boolean;
  readonly closes: boolean;
};
type Bracket = { readonly type: 'bracket'; readonly sign: '[' | '!['; readonly after: number; isActive: boolean };
type Part = Inline | Delimiter | Bracket;

const special = /[\\`*_~[\]<&\n]|!\[|(?<![\w/])(?:https?:\/\/|www\.)/giu;
const escape = /\\([!-/:-@[-`{-~])/y;
const ticks = /`+/y;
const runs = /\*+|_+|~+/y;
const entity = /&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z][a-z\d]{1,31});/iy;
const angleLink = /<([a-z][a-z\d+.-]{1,31}:[^\s<>]*|[\w.+-]{1,64}@[\w.-]{1,255})>/iy;
const tag = /<\/?[a-z][\w-]*(?:\s[^<>]*)?>/iy;
const bareLink = /[^\s<]+/y;
const lineEnd = /\n */y;
const bareMail = /([\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+(?![\w-]))/u;

export const readInline = (source: string, definitions: LinkDefinitions): readonly Inline[] =>
  new InlineReader(source, definitions).read();

class InlineReader {
  readonly #source: string;
  readonly #definitions: LinkDefinitions;
  readonly #parts: Part[] = [];
  /** Where in `#parts` brackets are open. */
  readonly #brackets: number[] = [];
  /** Lengths of backtick runs that nothing closes. */
  readonly #unclosed = new Set<number>();
  #at = 0;

  constructor(source: string, definitions: LinkDefinitions) {
    this.#source = source;
    this.#definitions = definitions;
  }

  read(): readonly Inline[] {
    const { length } = this.#source;
    while (this.#at < length) {
      special.lastIndex = this.#at;
      const next = special.exec(this.#source);
      const end = next?.index ?? length;
      if (end > this.#at) this.#parts.push(...withMails(this.#source.slice(this.#at, end)));
      this.#at = end;
      if (next !== null && !this.#readSpecial(next[0])) {
        this.#parts.push(next[0]);
        this.#at += next[0].length;
      }
    }
    return resolve(this.#parts);
  }

  #take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#source);
    if (found !== null) this.#at += found[0].length;
    return found;
  }

  /** False: it is a character like others. */
  #readSpecial(sign: string): boolean {
    switch (sign) {
      case '\\':
        return this.#readEscape();
      case '`':
        return this.#readCode();
      case '*':
      case '_':
      case '~':
        return this.#readRun(sign);
      case '[':
      case '![':
        this.#at += sign.length;
        this.#brackets.push(this.#parts.length);
        return this.#add({ type: 'bracket', sign, after: this.#at, isActive: true });
      case ']':
        return this.#closeBracket();
      case '<':
        return this.#readAngle();
      case '&': {
        const found = this.#take(entity);
        return found !== null && this.#add(decodeEntities(found[0]));
      }
      case '\n':
        return this.#endLine();
      default:
        return this.#readBareLink();
    }
  }

  #add(part: Part): true {
    this.#parts.push(part);
    return true;
  }

  #readEscape(): boolean {
    if (this.#source[this.#at + 1] === '\n') {
      this.#at += 1;
      this.#take(lineEnd);
      return this.#add({ type: 'br' });
    }
    const found = this.#take(escape);
    return found !== null && this.#add(found[1]!);
  }

  #readCode(): boolean {
    const { length } = this.#take(ticks)![0];
    const begin = this.#at;
    if (!this.#unclosed.has(length)) {
      const closing = new RegExp(`(?<!\`)\`{${length}}(?!\`)`, 'gu');
      closing.lastIndex = begin;
      const found = closing.exec(this.#source);
      if (found !== null) {
        this.#at = found.index + length;
        const text = this.#source.slice(begin, found.index).replaceAll('\n', ' ');
        return this.#add({ type: 'code', text: /^ .*[^ ].* $/u.test(text) ? text.slice(1, -1) : text });
      }
      this.#unclosed.add(length);
    }
    return this.#add('`'.repeat(length));
  }

  #readRun(sign: string): boolean {
    const before = this.#source.slice(0, this.#at).at(-1) ?? ' ';
    const { length } = this.#take(runs)![0];
    const after = this.#source[this.#at] ?? ' ';
    const [spaceBefore, spaceAfter] = [/\s/u.test(before), /\s/u.test(after)];
    const [markBefore, markAfter] = [isPunctuation(before), isPunctuation(after)];
    const opensLeft = !spaceAfter && (!markAfter || spaceBefore || markBefore);
    const closesRight = !spaceBefore && (!markBefore || spaceAfter || markAfter);
    const isWordly = sign === '_';
    return this.#add({
      type: 'delimiter',
      sign,
      length,
      left: length,
      opens: opensLeft && (!isWordly || !closesRight || markBefore),
      closes: closesRight && (!isWordly || !opensLeft || markAfter),
    });
  }

  #closeBracket(): boolean {
    const at = this.#brackets.pop();
    if (at === undefined) return false;
    const { sign, after, isActive } = this.#parts[at] as Bracket;
    const text = this.#source.slice(after, this.#at);
    const target = isActive ? this.#readTarget(text) : null;
    if (target === null) {
      this.#parts[at] = sign;
      return false;
    }
    this.#at = target.end;
    const of = resolve(this.#parts.splice(at).slice(1));
    if (sign === '![') return this.#add({ type: 'image', href: target.href, text: plainText(of) });
    // A link has no links inside.
    for (const open of this.#brackets) {
      const bracket = this.#parts[open] as Bracket;
      if (bracket.sign === '[') bracket.isActive = false;
    }
    return this.#add({ type: 'link', href: target.href, of: withoutLinks(of) });
  }

  #readTarget(text: string): { readonly href: string; readonly end: number } | null {
    const next = this.#at + 1;
    const inline = this.#source[next] === '(' ? readAddress(this.#source, next) : null;
    if (inline !== null || this.#definitions.size === 0) return inline;
    const [whole = '', label = ''] = /^\[([^[\]]{0,999})\]/u.exec(this.#source.slice(next, next + 1_001)) ?? [];
    const href = this.#definitions.get(labelKey(label === '' ? text : label));
    return href === undefined ? null : { href, end: next + whole.length };
  }

  #readAngle(): boolean {
    const [, link] = this.#take(angleLink) ?? [];
    if (link !== undefined) return this.#add(bareLinkTo(link));
    const found = this.#take(tag);
    if (found === null) return false;
    return this.#add(/^<br\s*\/?>$/iu.test(found[0]) ? { type: 'br' } : found[0]);
  }

  #endLine(): true {
    const last = this.#parts.at(-1);
    this.#take(lineEnd);
    if (typeof last !== 'string' || !last.endsWith(' ')) return this.#add('\n');
    this.#parts[this.#parts.length - 1] = last.trimEnd();
    return this.#add(last.endsWith('  ') ? { type: 'br' } : '\n');
  }

  #readBareLink(): boolean {
    const [found] = this.#take(bareLink)!;
    const text = withoutEnd(found);
    this.#at -= found.length - text.length;
    return this.#add(bareLinkTo(text));
  }
}

/** A link that is its own text. */
const bareLinkTo = (text: string): Inline => {
  const scheme = /^\w[\w+.-]*:/u.test(text) ? '' : text.includes('@') ? 'mailto:' : 'http://';
  return { type: 'link', href: scheme + text, of: [text] };
};

const isPunctuation = (character: string): boolean => /[\p{P}\p{S}]/u.test(character);

/** A full stop after an address ends the sentence; a bracket that it does not open is not part of it. */
const withoutEnd = (address: string): string => {
  let text = address;
  let open = text.split('(').length - text.split(')').length;
  for (;;) {
    const last = text.at(-1)!;
    if (/[?!.,:;*_~'"]/u.test(last)) text = text.slice(0, -1);
    else if (last === ')' && open < 0) {
      text = text.slice(0, -1);
      open++;
    } else return text;
  }
};

const withMails = (text: string): readonly Inline[] =>
  text.includes('@')
    ? text
        .split(bareMail)
        .map((part, at) => (at % 2 === 0 ? part : bareLinkTo(part)))
        .filter((part) => part !== '')
    : [text];

const maxParentheses = 32;
const title = /\s+(?:"[^"]*"|'[^']*'|\([^()]*\))/y;
const space = /\s*/y;

/** `(address "title")`, from its first parenthesis. */
const readAddress = (source: string, begin: number): { readonly href: string; readonly end: number } | null => {
  const skip = (pattern: RegExp, from: number): number => {
    pattern.lastIndex = from;
    return from + (pattern.exec(source)?.[0].length ?? 0);
  };
  let at = skip(space, begin + 1);
  let from = at;
  let depth = 0;
  const isAngled = source[at] === '<';
  if (isAngled) from++;
  for (; at < source.length; at++) {
    const sign = source[at]!;
    if (sign === '\\') at++;
    else if (isAngled ? sign === '>' : /\s/u.test(sign)) break;
    else if (isAngled ? sign === '\n' : sign === '(' && ++depth > maxParentheses) return null;
    else if (!isAngled && sign === ')' && depth-- === 0) break;
  }
  const href = source.slice(from, at).replaceAll(/\\([!-/:-@[-`{-~])/gu, '$1');
  const end = skip(space, skip(title, isAngled ? at + 1 : at));
  return source[end] === ')' ? { href: decodeEntities(href), end: end + 1 } : null;
};

/** Case and the amount of space make no difference. */
export const labelKey = (label: string): string =>
  label.length > 999 ? '' : label.trim().replaceAll(/\s+/gu, ' ').toLowerCase();

/** Pairs signs that open with signs that close; what is left over is text. */
const resolve = (parts: readonly Part[]): readonly Inline[] => {
  const done: Part[] = [];
  // Below these, nothing opens what such a sign closes.
  const bottoms = new Map<string, number>();
  for (const part of parts) {
    if (isDelimiter(part) && part.closes) closeEmphasis(done, part, bottoms);
    if (!isDelimiter(part) || part.left > 0) done.push(part);
  }
  return merged(done.map(asInline));
};

const isDelimiter = (part: Part): part is Delimiter => typeof part !== 'string' && part.type === 'delimiter';

const closeEmphasis = (done: Part[], closer: Delimiter, bottoms: Map<string, number>): void => {
  const key = `${closer.sign}${closer.opens}${closer.sign === '~' ? closer.length : closer.length % 3}`;
  while (closer.left > 0) {
    const bottom = Math.min(bottoms.get(key) ?? 0, done.length);
    let at = done.length - 1;
    while (at >= bottom && !fits(done[at]!, closer)) at--;
    if (at < bottom) {
      bottoms.set(key, done.length);
      return;
    }
    const opener = done[at] as Delimiter;
    const used = closer.sign === '~' ? closer.length : Math.min(2, opener.left, closer.left);
    const of = merged(done.splice(at + 1).map(asInline));
    opener.left -= used;
    closer.left -= used;
    if (opener.left === 0) done.pop();
    done.push({ type: closer.sign === '~' ? 'del' : used === 2 ? 'strong' : 'em', of });
  }
};

const fits = (part: Part, closer: Delimiter): boolean => {
  if (!isDelimiter(part) || part.sign !== closer.sign || !part.opens) return false;
  if (closer.sign === '~') return part.length === closer.length && closer.length < 3;
  // `**a*b**` is one pair, not two.
  if (!part.closes && !closer.opens) return true;
  return (part.length + closer.length) % 3 !== 0 || (part.length % 3 === 0 && closer.length % 3 === 0);
};

const asInline = (part: Part): Inline => {
  if (typeof part === 'string') return part;
  if (part.type === 'delimiter') return part.sign.repeat(part.left);
  return part.type === 'bracket' ? part.sign : part;
};

const merged = (parts: readonly Inline[]): readonly Inline[] => {
  const one: Inline[] = [];
  for (const part of parts) {
    const last = one.at(-1);
    if (typeof part === 'string' && typeof last === 'string') one[one.length - 1] = last + part;
    else one.push(part);
  }
  return one;
};

const withoutLinks = (parts: readonly Inline[]): readonly Inline[] =>
  merged(parts.flatMap((part) => (typeof part !== 'string' && part.type === 'link' ? part.of : [part])));

const plainText = (parts: readonly Inline[]): string =>
  parts
    .map((part) => {
      if (typeof part === 'string') return part;
      if ('of' in part) return plainText(part.of);
      return 'text' in part ? part.text : ' ';
    })
    .join('');
