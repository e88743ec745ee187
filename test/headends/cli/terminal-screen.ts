// A small terminal: what a person sees after what was written to it.

/** One row of the screen. A row that the terminal wrapped goes on in the next one. */
type Row = { cells: string[]; goesOn: boolean };

const wide = /^[\u3000-\u9FFF\u{1F300}-\u{1FAFF}]$/u;
const combining = /^(?:\p{Mn}|\u200D)$/u;
const sequence = new RegExp(String.raw`${'\u001B'}\[(?<parameter>[?\d;]*)(?<final>[A-Za-z])|[^]`, 'gu');

export class TerminalScreen {
  columns: number;
  rows: number;
  cursorVisible = true;
  /** Whether a line was wider than the screen. */
  wrapped = false;
  #rows: Row[] = [emptyRow()];
  #row = 0;
  #column = 0;

  constructor(columns: number, rows: number) {
    [this.columns, this.rows] = [columns, rows];
  }

  /** Rows from the first one, scrolled ones included. */
  get lines(): readonly string[] {
    return withoutEnd(this.#rows.map(({ cells }) => cells.join('').trimEnd()));
  }

  /** Lines as they were written: whole, however the terminal wrapped them. */
  get wholeLines(): readonly string[] {
    return withoutEnd(wholeLines(this.#rows).map((cells) => cells.join('').trimEnd()));
  }

  write(bytes: string): void {
    for (const token of bytes.matchAll(sequence)) {
      const { parameter = '', final } = token.groups ?? {};
      if (final === undefined) this.#put(token[0]);
      else this.#obey(parameter, final);
    }
  }

  /** Wraps every line anew, as most terminals do. */
  resize(columns: number, rows: number): void {
    const before = wholeLines(this.#rows.slice(0, this.#row));
    const isInLine = this.#rows[this.#row - 1]?.goesOn === true;
    const offset = isInLine ? before.at(-1)!.length + this.#column : this.#column;
    const cursorLine = isInLine ? before.length - 1 : before.length;
    [this.columns, this.rows] = [columns, rows];
    const wrapped = wholeLines(this.#rows).map((cells) => wrap(cells, columns));
    this.#rows = wrapped.flat();
    this.#row = wrapped.slice(0, cursorLine).flat().length + Math.floor(offset / columns);
    this.#column = offset % columns;
    this.#goTo(this.#row);
  }

  #obey(parameter: string, final: string): void {
    const number = Number(parameter === '' ? 1 : parameter);
    const row = this.#rows[this.#row]!;
    if (final === 'A') this.#goTo(this.#row - number);
    else if (final === 'G') this.#column = number - 1;
    else if (final === 'K') this.#cut(row);
    else if (final === 'J') {
      this.#cut(row);
      for (const below of this.#rows.slice(this.#row + 1)) Object.assign(below, emptyRow());
    } else if (final === 'l' || final === 'h') this.cursorVisible = final === 'h';
  }

  #cut(row: Row): void {
    row.cells.splice(this.#column);
    row.goesOn = false;
  }

  #put(character: string): void {
    if (character === '\r') this.#column = 0;
    else if (character === '\n') {
      this.#goTo(this.#row + 1);
      this.#column = 0;
    } else if (combining.test(character)) {
      const { cells } = this.#rows[this.#row]!;
      if (cells.length > 0) cells[cells.length - 1] += character;
    } else this.#putWide(character, wide.test(character) ? 2 : 1);
  }

  #putWide(character: string, width: number): void {
    if (this.#column + width > this.columns) {
      this.wrapped = true;
      this.#rows[this.#row]!.goesOn = true;
      this.#goTo(this.#row + 1);
      this.#column = 0;
    }
    const { cells } = this.#rows[this.#row]!;
    while (cells.length < this.#column) cells.push(' ');
    cells[this.#column] = character;
    if (width === 2) cells[this.#column + 1] = '';
    this.#column += width;
  }

  /** The cursor cannot move above the screen. */
  #goTo(to: number): void {
    this.#row = Math.max(0, this.#rows.length - this.rows, to);
    while (this.#rows.length <= this.#row) this.#rows.push(emptyRow());
  }
}

const emptyRow = (): Row => ({ cells: [], goesOn: false });

const wholeLines = (rows: readonly Row[]): string[][] => {
  const lines: string[][] = [];
  let goesOn = false;
  for (const row of rows) {
    if (goesOn) lines.at(-1)!.push(...row.cells);
    else lines.push([...row.cells]);
    goesOn = row.goesOn;
  }
  return lines;
};

const wrap = (cells: readonly string[], columns: number): Row[] => {
  const rows = [emptyRow()];
  for (const [at, cell] of cells.entries()) {
    const width = cells[at + 1] === '' ? 2 : 1;
    if (cell !== '' && rows.at(-1)!.cells.length + width > columns) {
      rows.at(-1)!.goesOn = true;
      rows.push(emptyRow());
    }
    rows.at(-1)!.cells.push(cell);
  }
  return rows;
};

const withoutEnd = (lines: readonly string[]): readonly string[] =>
  lines.slice(0, lines.findLastIndex((line) => line !== '') + 1);
