// Renders the text of models for a terminal, line by line, while it is written.
//
//   rendered-lines-final. What `add` returns never changes, whatever comes later.
//   rendered-nothing-lost. What is not recognised as Markdown is shown as it was written.
//   rendered-linear. The time is linear in the length of the text: the process of the command line runs all cells, and no
//       model's text may hold up the others.
import { inlineSpans, layout, paintSpans, spansWidth } from './markdown-inline.ts';
import type { Margins, Span } from './markdown-inline.ts';
import type { Screen } from './output.ts';
import { width } from './sanitize-text.ts';

/** Lines are sanitized, and without their line break. */
export type LineRenderer = {
  /** Takes a whole line; returns the lines to print. */
  add(line: string): readonly string[];
  /** What the text would end with if this were its last, unfinished line. No line is wider than the screen. */
  preview(line: string): readonly string[];
  /** What was held back until now. */
  end(): readonly string[];
};

/** Without colours, marks such as `**` stay: they are all that is left of an emphasis. */
export const markdownRenderer = (screen: Screen): LineRenderer => new Markdown(screen);

export const plainRenderer = (screen: Screen): LineRenderer => ({
  add: (line) => plainLines(line, screen, false),
  preview: (line) => plainLines(line, screen, true),
  end: () => [],
});

/** All lines of a text. */
export const renderText = (text: string, renderer: LineRenderer): readonly string[] => [
  ...text.split('\n').flatMap((line) => renderer.add(line)),
  ...renderer.end(),
];

/** A longer table is printed in parts. */
const tableRowsMax = 200;
const quoteDepthMax = 6;

class Markdown implements LineRenderer {
  readonly #screen: Screen;
  readonly #styled: boolean;
  /** The mark that closes the current code block. */
  #fence: string | null = null;
  /** The rows of a table so far: its columns are as wide as the widest row needs. */
  #table: string[] = [];

  constructor(screen: Screen) {
    this.#screen = screen;
    this.#styled = screen.paint('bold', 'x') !== 'x';
  }

  add(line: string): readonly string[] {
    if (this.#fence === null && isTableRow(line)) {
      this.#table.push(line);
      return this.#table.length < tableRowsMax ? [] : this.end();
    }
    return [...this.end(), ...this.#line(line, false)];
  }

  preview(line: string): readonly string[] {
    if (this.#fence === null && isTableRow(line)) return this.#tableLines([...this.#table, line], true);
    const fence = this.#fence;
    const lines = [...this.#tableLines(this.#table, true), ...(line === '' ? [] : this.#line(line, true))];
    this.#fence = fence;
    return lines;
  }

  end(): readonly string[] {
    const lines = this.#tableLines(this.#table, false);
    this.#table = [];
    return lines;
  }

  #line(line: string, breaksWords: boolean): readonly string[] {
    const { paint } = this.#screen;
    const mark = /^\s*(?:[-*+]\s+|\d{1,9}[.)]\s+)?(?<mark>`{3,}|~{3,})/u.exec(line)?.groups?.['mark'];
    if (this.#fence !== null) {
      const isEnd = mark?.startsWith(this.#fence) === true && /^\s*[`~]+\s*$/u.test(line);
      if (isEnd) this.#fence = null;
      return this.#codeLines(line, breaksWords, (part) => paint(isEnd ? 'dim' : 'cyan', part));
    }
    if (mark !== undefined && !line.slice(line.indexOf(mark) + mark.length).includes('`')) {
      this.#fence = mark;
      return this.#codeLines(line, breaksWords, (part) => paint('dim', part));
    }
    return this.#block(line, { first: '', rest: '', columns: this.#screen.columns, breaksWords }, 0);
  }

  /** Whole, so that they can be copied; a terminal wraps long ones. */
  #codeLines(line: string, breaksWords: boolean, painted: (part: string) => string): readonly string[] {
    if (!breaksWords) return [painted(line)];
    return layout([{ text: line.replaceAll('\t', '    '), styles: [] }], {
      first: '',
      rest: '',
      columns: this.#screen.columns,
      breaksWords,
    }).map((part) => painted(paintSpans(part, this.#screen.paint)));
  }

  #block(line: string, margins: Margins, depth: number): readonly string[] {
    const { paint } = this.#screen;
    const [indent = ''] = /^\s*/u.exec(line) ?? [];
    const text = line.slice(indent.length);
    if (text === '') return [margins.first.trimEnd()];
    if (!this.#styled) return this.#wrapped([{ text, styles: [] }], margins, { indent, hang: hangOf(text) });

    const heading = /^(?<level>#{1,6})\s+(?<title>.*?)(?:\s+#+)?\s*$/u.exec(text)?.groups;
    if (heading !== undefined) {
      const styles = heading['level']!.length === 1 ? (['bold', 'underline'] as const) : (['bold'] as const);
      return this.#wrapped(inlineSpans(heading['title']!, styles), margins, { indent: '', hang: 0 });
    }
    if (/^(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$/u.test(text))
      return [margins.first + paint('dim', '─'.repeat(Math.max(3, Math.min(40, margins.columns - width(indent)))))];
    if (text.startsWith('>') && depth < quoteDepthMax && margins.columns > columnsMin) {
      const bar = `${paint('dim', '│')} `;
      const { first, rest, columns, breaksWords } = margins;
      const inner = { first: first + bar, rest: rest + bar, columns: columns - 2, breaksWords };
      return this.#block(text.replace(/^>\s?/u, ''), inner, depth + 1);
    }
    const item = /^(?<mark>[-*+]|\d{1,9}[.)])\s+(?<text>\S.*)$/u.exec(text)?.groups;
    if (item === undefined) return this.#wrapped(inlineSpans(text), margins, { indent, hang: 0 });
    const mark = /^\d/u.test(item['mark']!) ? item['mark']! : '•';
    return this.#wrapped(inlineSpans(item['text']!), margins, { indent: `${indent}${mark} `, hang: 0 });
  }

  /** `hang`: how much further the lines after the first are indented. */
  #wrapped(
    spans: readonly Span[],
    { first, rest, columns, breaksWords }: Margins,
    { indent, hang }: { readonly indent: string; readonly hang: number },
  ): readonly string[] {
    // A deep indentation may not use up the line.
    const most = Math.max(0, columns - columnsMin);
    const shown = width(indent) <= most ? indent : indent.trimStart().padStart(Math.min(most, width(indent)));
    const margin = ' '.repeat(Math.min(most, width(shown) + hang));
    const margins = { first: shown, rest: margin, columns, breaksWords };
    return layout(spans, margins).map(
      (line, index) =>
        `${index === 0 ? first : rest}${index === 0 ? shown : margin}${paintSpans(line, this.#screen.paint)}`,
    );
  }

  #tableLines(rows: readonly string[], breaksWords: boolean): readonly string[] {
    if (rows.length === 0) return [];
    const [head = '', rule = '', ...body] = rows;
    if (!/^\s*\|?(?:\s*:?-+:?\s*\|?)+\s*$/u.test(rule)) {
      const margins = { first: '', rest: '', columns: this.#screen.columns, breaksWords };
      return rows.flatMap((row) => this.#block(row, margins, 0));
    }
    const cells = [head, ...body].map((row) => tableCells(row).map((text) => this.#cell(text)));
    const columns = cells.reduce((most, row) => Math.max(most, row.length), 0);
    const widths = Array.from({ length: columns }, (_, at) =>
      cells.reduce((most, row) => Math.max(most, spansWidth(row[at] ?? [])), 0),
    );
    const total = widths.reduce((sum, one) => sum + one + 2, -2);
    if (total > this.#screen.columns) return this.#tableAsList(cells, breaksWords);
    const { paint } = this.#screen;
    const right = tableCells(rule).map((text) => /^[^:].*:$/u.test(text));
    const line = (row: readonly (readonly Span[])[], isHead: boolean): string =>
      widths
        .map((one, at) => {
          const spans = row[at] ?? [];
          const text = paintSpans(spans, paint);
          const space = ' '.repeat(one - spansWidth(spans));
          return right[at] === true
            ? space + (isHead ? paint('bold', text) : text)
            : (isHead ? paint('bold', text) : text) + space;
        })
        .join('  ')
        .trimEnd();
    const [first = [], ...others] = cells;
    const rules = paint('dim', widths.map((one) => '─'.repeat(one)).join('  '));
    return [line(first, true), rules, ...others.map((row) => line(row, false))];
  }

  /** A table that is too wide: for each row, its fields below each other. */
  #tableAsList(
    [head = [], ...rows]: readonly (readonly (readonly Span[])[])[],
    breaksWords: boolean,
  ): readonly string[] {
    const { columns } = this.#screen;
    const field = (spans: readonly Span[], at: number): readonly string[] => {
      const title = (head[at] ?? []).map(({ text }) => text).join('');
      const label: readonly Span[] = title === '' ? [] : [{ text: `${title}: `, styles: ['bold'] }];
      const margins = { first: '', rest: '', columns, breaksWords };
      return this.#wrapped([...label, ...spans], margins, { indent: at === 0 ? '• ' : '  ', hang: 2 });
    };
    const all = rows.length === 0 ? [head] : rows;
    return all.flatMap((row) => row.flatMap((spans, at) => (spans.length === 0 ? [] : field(spans, at))));
  }

  #cell(text: string): readonly Span[] {
    return this.#styled ? inlineSpans(text) : [{ text, styles: [] }];
  }
}

/** Text needs this much, whatever it is indented by. */
const columnsMin = 16;

const isTableRow = (line: string): boolean => /^\s*\|/u.test(line);

const tableCells = (row: string): readonly string[] => {
  const inner = row
    .trim()
    .replace(/^\|/u, '')
    .replace(/(?<!\\)\|$/u, '');
  return inner.split(/(?<!\\)\|/u).map((cell) =>
    cell
      .replaceAll(String.raw`\|`, '|')
      .replaceAll(/<br\s?\/?>/gu, ' ')
      .trim(),
  );
};

/** As far as the mark of a list item or a quotation, which stays as it was written. */
const hangOf = (text: string): number => /^(?:[-*+]|\d{1,9}[.)]|>|#{1,6})\s+/u.exec(text)?.[0].length ?? 0;

const plainLines = (line: string, { paint, columns }: Screen, breaksWords: boolean): readonly string[] => {
  const rest = /^\s{0,12}/u.exec(line)?.[0] ?? '';
  return layout([{ text: line.replaceAll('\t', '    '), styles: [] }], { first: '', rest, columns, breaksWords }).map(
    (part, index) => (index === 0 ? '' : rest) + paintSpans(part, paint),
  );
};
