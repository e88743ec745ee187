// Blocks of Markdown (headings, lists, tables, code), as CommonMark and GitHub read them. HTML is text like any other.
import { labelKey, readInline } from './read-inline.ts';
import type { Inline, LinkDefinitions } from './read-inline.ts';

export type Alignment = 'left' | 'right' | 'center' | null;

export type ListItem = {
  /** It begins with a box. */
  readonly isTask: boolean;
  readonly of: readonly MarkdownBlock[];
};

export type MarkdownBlock =
  | { readonly type: 'paragraph'; readonly of: readonly Inline[] }
  | { readonly type: 'heading'; readonly level: number; readonly of: readonly Inline[] }
  | { readonly type: 'quote'; readonly of: readonly MarkdownBlock[] }
  | { readonly type: 'rule' }
  | { readonly type: 'code'; readonly text: string; readonly language: string }
  /** `start`: null if its items have no numbers. `isLoose`: with blank lines between them. */
  | {
      readonly type: 'list';
      readonly start: number | null;
      readonly isLoose: boolean;
      readonly items: readonly ListItem[];
    }
  | {
      readonly type: 'table';
      readonly alignments: readonly Alignment[];
      readonly head: readonly (readonly Inline[])[];
      readonly rows: readonly (readonly (readonly Inline[])[])[];
    };

export const readMarkdown = (source: string): readonly MarkdownBlock[] => {
  const lines = source.replaceAll(/\r\n?/gu, '\n').split('\n');
  return new BlockReader(lines, readDefinitions(lines), 0).read();
};

/** Deeper ones are shown as text: each level costs a call. */
const maxDepth = 40;

const rule = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/u;
const heading = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/u;
const fence = /^( {0,3})(`{3,}(?=[^`]*$)|~{3,})(.*)$/u;
const underline = /^ {0,3}(?:(=+)|-+)[ \t]*$/u;
const quote = /^ {0,3}> ?/u;
const item = /^( {0,3})([-*+]|(\d{1,9})[.)])(?:([ \t]+)(.*))?$/u;
const alignmentRow = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/u;
const definition =
  /^ {0,3}\[((?:[^[\]\\]|\\.){1,999})\]:[ \t]*(?:<([^<>]*)>|(\S+))(?:[ \t]+(?:"[^"]*"|'[^']*'|\([^()]*\)))?[ \t]*$/u;
const indent = /^ {4}/u;

const isBlank = (line: string): boolean => line.trim() === '';

const readDefinitions = (lines: readonly string[]): LinkDefinitions => {
  const definitions = new Map<string, string>();
  for (const line of lines) {
    const [, label = '', angled, href = angled ?? ''] = line.includes(']:') ? (definition.exec(line) ?? []) : [];
    const key = labelKey(label);
    if (key !== '' && !definitions.has(key)) definitions.set(key, href);
  }
  return definitions;
};

/** A tab reaches to the next column of four. */
const withoutTabs = (line: string): string =>
  /^ *\t/u.test(line)
    ? line.replace(/^[ \t]+/u, (space) => {
        let width = 0;
        for (const sign of space) width += sign === '\t' ? 4 - (width % 4) : 1;
        return ' '.repeat(width);
      })
    : line;

class BlockReader {
  readonly #lines: readonly string[];
  readonly #definitions: LinkDefinitions;
  readonly #depth: number;
  readonly #blocks: MarkdownBlock[] = [];
  #at = 0;
  /** Blank lines stand between its blocks. */
  hasGap = false;

  constructor(lines: readonly string[], definitions: LinkDefinitions, depth: number) {
    this.#lines = lines.map(withoutTabs);
    this.#definitions = definitions;
    this.#depth = depth;
  }

  read(): readonly MarkdownBlock[] {
    for (let before = ''; this.#at < this.#lines.length; before = this.#lines[this.#at - 1]!) {
      const line = this.#lines[this.#at]!;
      if (isBlank(line)) {
        this.#at++;
        continue;
      }
      this.hasGap ||= this.#blocks.length > 0 && isBlank(before);
      if (this.#depth > maxDepth) this.#readParagraph();
      else this.#readBlock(line);
    }
    return this.#blocks;
  }

  #readBlock(line: string): void {
    if (indent.test(line)) return this.#readIndented();
    const fenced = fence.exec(line);
    if (fenced !== null) return this.#readFenced(fenced);
    const [, signs, text = ''] = heading.exec(line) ?? [];
    if (signs !== undefined) {
      this.#at++;
      const of = this.#inline(text.trim().replace(/(^|[ \t])#+$/u, ''));
      return this.#add({ type: 'heading', level: signs.length, of });
    }
    if (rule.test(line)) {
      this.#at++;
      return this.#add({ type: 'rule' });
    }
    if (quote.test(line)) return this.#readQuote();
    const first = item.exec(line);
    if (first !== null) return this.#readList(first);
    if (isTableHead(line, this.#lines[this.#at + 1])) return this.#readTable(line);
    if (definition.test(line)) this.#at++;
    else this.#readParagraph();
  }

  #add(block: MarkdownBlock): void {
    this.#blocks.push(block);
  }

  #inline(text: string): readonly Inline[] {
    return readInline(text.trim(), this.#definitions);
  }

  #below(lines: readonly string[]): BlockReader {
    return new BlockReader(lines, this.#definitions, this.#depth + 1);
  }

  #readIndented(): void {
    const lines: string[] = [];
    for (; this.#at < this.#lines.length; this.#at++) {
      const line = this.#lines[this.#at]!;
      if (!isBlank(line) && !indent.test(line)) break;
      lines.push(line.slice(4));
    }
    for (; isBlank(lines.at(-1)!); this.#at--) lines.pop();
    this.#add({ type: 'code', text: lines.join('\n'), language: '' });
  }

  #readFenced([, margin = '', signs = '', language = '']: RegExpExecArray): void {
    const lines: string[] = [];
    for (this.#at++; this.#at < this.#lines.length; this.#at++) {
      const line = this.#lines[this.#at]!;
      if (closesFence(line, signs)) {
        this.#at++;
        break;
      }
      const { length } = /^ */u.exec(line)![0];
      lines.push(line.slice(Math.min(length, margin.length)));
    }
    this.#add({ type: 'code', text: lines.join('\n'), language: language.trim() });
  }

  #readQuote(): void {
    const lines: string[] = [];
    const end = paragraphFollower();
    for (; this.#at < this.#lines.length; this.#at++) {
      const line = this.#lines[this.#at]!;
      if (!quote.test(line) && (isBlank(line) || !end.isOpen() || startsBlock(line))) break;
      lines.push(line.replace(quote, ''));
      end.follow(lines.at(-1)!);
    }
    this.#add({ type: 'quote', of: this.#below(lines).read() });
  }

  #readList(first: RegExpExecArray): void {
    const sign = first[2]!.at(-1)!;
    const items: ListItem[] = [];
    let isLoose = false;
    for (let next: RegExpExecArray | null = first; next !== null;) {
      const inner = this.#below(this.#itemLines(next));
      items.push(listItem(inner.read()));
      const begin = this.#at;
      while (isBlank(this.#lines[this.#at] ?? 'end')) this.#at++;
      const line = this.#lines[this.#at] ?? '';
      next = rule.test(line) ? null : item.exec(line);
      if (next?.[2]!.at(-1) !== sign) next = null;
      isLoose ||= inner.hasGap || (next !== null && this.#at > begin);
      if (next === null) this.#at = begin;
    }
    this.#add({ type: 'list', start: first[3] === undefined ? null : Number(first[3]), isLoose, items });
  }

  /** The lines of one item, without its sign and its margin. */
  #itemLines([, margin = '', sign = '', , space = ' ', text = '']: RegExpExecArray): readonly string[] {
    const isCode = space.length > 4;
    const width = margin.length + sign.length + (isCode || text === '' ? 1 : space.length);
    const lines = [isCode ? `${space.slice(1)}${text}` : text];
    const end = paragraphFollower();
    end.follow(lines[0]!);
    let blanks = 0;
    for (this.#at++; this.#at < this.#lines.length; this.#at++) {
      const line = this.#lines[this.#at]!;
      if (isBlank(line)) {
        // What begins with a blank line is empty.
        if (lines.length === 1 && text === '') break;
        blanks++;
        continue;
      }
      const isInside = line.startsWith(' '.repeat(width));
      if (!isInside && (blanks > 0 || !end.isOpen() || startsBlock(line, true))) break;
      for (; blanks > 0; blanks--) {
        lines.push('');
        end.follow('');
      }
      lines.push(isInside ? line.slice(width) : line);
      end.follow(lines.at(-1)!);
    }
    this.#at -= blanks;
    return lines;
  }

  #readTable(line: string): void {
    const cells = (row: string) => tableCells(row).map((cell) => this.#inline(cell));
    const head = cells(line);
    const alignments = tableCells(this.#lines[this.#at + 1]!).map(alignmentOf);
    const rows: (readonly (readonly Inline[])[])[] = [];
    for (this.#at += 2; this.#at < this.#lines.length; this.#at++) {
      const row = this.#lines[this.#at]!;
      if (isBlank(row) || startsBlock(row)) break;
      const own = cells(row);
      rows.push(head.map((_, at) => own[at] ?? []));
    }
    this.#add({ type: 'table', alignments, head, rows });
  }

  #readParagraph(): void {
    const lines = [this.#lines[this.#at]!];
    for (this.#at++; this.#at < this.#lines.length; this.#at++) {
      const line = this.#lines[this.#at]!;
      if (isBlank(line)) break;
      const [underlined, isFirst] = underline.exec(line) ?? [];
      if (underlined !== undefined) {
        this.#at++;
        return this.#add({
          type: 'heading',
          level: isFirst === undefined ? 2 : 1,
          of: this.#inline(lines.join('\n')),
        });
      }
      if (this.#depth <= maxDepth && (startsBlock(line) || isTableHead(line, this.#lines[this.#at + 1]))) break;
      lines.push(line);
    }
    this.#add({ type: 'paragraph', of: this.#inline(lines.map((line) => line.trimStart()).join('\n')) });
  }
}

/** Whether a line begins something else than the paragraph before it. */
const startsBlock = (line: string, isInList = false): boolean => {
  if (fence.test(line) || heading.test(line) || rule.test(line) || quote.test(line)) return true;
  const [, , , number, , text = ''] = item.exec(line) ?? ['', '', '', '2'];
  return isInList ? item.test(line) : text !== '' && (number === undefined || number === '1');
};

const closesFence = (line: string, signs: string): boolean => {
  const text = line.trim();
  return /^ {0,3}\S/u.test(line) && text.length >= signs.length && text === signs[0]!.repeat(text.length);
};

/** Whether a paragraph is open at the end of lines: then the next line may continue it without their margin. */
const paragraphFollower = () => {
  let signs: string | null = null;
  let isOpen = false;
  return {
    isOpen: (): boolean => isOpen,
    follow: (whole: string): void => {
      if (signs !== null) {
        if (closesFence(whole, signs)) signs = null;
        isOpen = false;
        return;
      }
      const line = withoutMargins(whole);
      signs = fence.exec(line)?.[2] ?? null;
      const isCode = !isOpen && indent.test(line);
      isOpen = signs === null && !isBlank(line) && !isCode && !heading.test(line) && !rule.test(line);
    },
  };
};

/** What a line says inside of its quotes and items. */
const withoutMargins = (whole: string): string => {
  let line = whole;
  for (let depth = 0; depth < maxDepth && !rule.test(line); depth++) {
    const inner = line.replace(quote, '').replace(item, '$5');
    if (inner === line) break;
    line = inner;
  }
  return line;
};

const box = /^\[([ xX])\][ \t]+/u;

/** `[x] done`: a box, which is ticked. */
const listItem = (of: readonly MarkdownBlock[]): ListItem => {
  const [block, ...others] = of;
  const [text, ...rest] = block?.type === 'paragraph' ? block.of : [];
  const [whole, tick] = typeof text === 'string' ? (box.exec(text) ?? []) : [];
  if (whole === undefined || typeof text !== 'string') return { isTask: false, of };
  const inline: readonly Inline[] = [{ type: 'box', isTicked: tick !== ' ' }, text.slice(whole.length), ...rest];
  return { isTask: true, of: [{ type: 'paragraph', of: inline }, ...others] };
};

const isTableHead = (line: string, next: string | undefined): boolean =>
  next !== undefined &&
  (line.includes('|') || next.includes('|')) &&
  alignmentRow.test(next) &&
  next.includes('-') &&
  tableCells(line).length === tableCells(next).length;

/** Between bars; `\|` is a bar in a cell. */
const tableCells = (row: string): readonly string[] => {
  const cells = row
    .trim()
    .replace(/^\|/u, '')
    .split(/(?<!\\)\|/u);
  if (cells.length > 1 && isBlank(cells.at(-1)!)) cells.pop();
  return cells.map((cell) => cell.trim().replaceAll(String.raw`\|`, '|'));
};

const alignmentOf = (cell: string): Alignment => {
  const [left, right] = [cell.startsWith(':'), cell.endsWith(':')];
  if (left && right) return 'center';
  return right ? 'right' : left ? 'left' : null;
};
