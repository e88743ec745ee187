// A few lines redrawn in place at the bottom of a terminal.
//
//   screen-cursor-below. Between draws the cursor is at the start of the line below the drawing.
//   screen-drawing-fits. A drawing never has more lines than the screen, so moving up reaches its first line.
//   screen-paused-silent. While it is paused, it writes nothing.
//   screen-closed-whole. After `close` the cursor is visible, and the last drawing stays in full; after `erase` nothing of it
//       stays.
import { stripVTControlCharacters } from 'node:util';
import type { CliStream, CliSystem } from './cli-world.ts';
import { columnsOf } from './output.ts';
import { width } from './sanitize-text.ts';

type LiveScreen = {
  /** Lets `print` write whole lines above the drawing. */
  printAbove(print: () => void): void;
  /** Leaves the terminal to others until the returned function is called; prints come after that. */
  pause(): () => void;
  close(): void;
  /** Closes it, and leaves nothing of the drawing. */
  erase(): void;
};

/** Lines of at most `columns` columns. Of more than `linesMax`, the last are drawn. */
export type Drawing = (limits: { readonly columns: number; readonly linesMax: number }) => readonly string[];

const redrawMs = 100;
const control = {
  hideCursor: '\u001B[?25l',
  showCursor: '\u001B[?25h',
  eraseToLineEnd: '\u001B[K',
  eraseBelow: '\u001B[J',
};

export const openLiveScreen = (
  stream: CliStream,
  { timer }: Pick<CliSystem, 'timer'>,
  drawing: Drawing,
  /** Prints what belongs above the drawing; null if there is nothing. */
  takeAbove: () => (() => void) | null = () => null,
): LiveScreen => {
  let stopTimer: (() => void) | undefined;
  let closed = false;
  const held = new HeldPrints();

  const { draw, erase } = openDrawing(stream, drawing);
  const printAbove = (print: () => void): void => {
    erase();
    print();
    draw(linesMaxOf(stream));
  };
  const tick = (): void => {
    const print = takeAbove();
    if (print === null) draw(linesMaxOf(stream));
    else printAbove(print);
    stopTimer = timer(redrawMs, tick);
  };
  const resume = (): void => {
    if (closed || !held.isPaused) return;
    stream.write(control.hideCursor);
    held.resume();
    tick();
  };
  const close = (last: () => void): void => {
    if (closed) return;
    resume();
    closed = true;
    stopTimer?.();
    const print = takeAbove();
    if (print !== null) printAbove(print);
    last();
    stream.write(control.showCursor);
  };

  stream.write(control.hideCursor);
  tick();
  return {
    printAbove: (print) => {
      if (closed) print();
      else held.print(print, printAbove);
    },
    pause: () => {
      if (closed || held.isPaused) return resume;
      stopTimer?.();
      erase();
      stream.write(control.showCursor);
      held.pause();
      return resume;
    },
    close: () => close(() => draw(Number.POSITIVE_INFINITY)),
    erase: () => close(erase),
  };
};

/** Draws in place of what was drawn before. */
const openDrawing = (stream: CliStream, drawing: Drawing) => {
  let drawn: readonly string[] = [];
  let drawnColumns = columnsOf(stream);
  const draw = (linesMax: number): void => {
    const columns = columnsOf(stream);
    // The end says most: the total, and what was just said.
    const lines = drawing({ columns, linesMax }).slice(-linesMax);
    if (columns === drawnColumns && lines.length === drawn.length && lines.every((line, at) => line === drawn[at]))
      return;
    const up = columns >= drawnColumns ? drawn.length : linesWrapped(drawn, columns + 1);
    stream.write(
      `\r${up > 0 ? `\u001B[${up}A` : control.eraseToLineEnd}${lines.map((line) => `${line}${control.eraseToLineEnd}\n`).join('')}${control.eraseBelow}`,
    );
    drawn = lines;
    drawnColumns = columns;
  };
  const erase = (): void => {
    const up = linesWrapped(drawn, columnsOf(stream) + 1);
    stream.write(`\r${up > 0 ? `\u001B[${up}A` : ''}${control.eraseBelow}`);
    drawn = [];
  };
  return { draw, erase };
};

/** What is to be printed after a pause. */
export class HeldPrints {
  #prints: (() => void)[] | null = null;

  get isPaused(): boolean {
    return this.#prints !== null;
  }

  pause(): void {
    this.#prints ??= [];
  }

  /** Now, by `printNow`, or after the pause. */
  print(print: () => void, printNow: (print: () => void) => void): void {
    if (this.#prints === null) printNow(print);
    else this.#prints.push(print);
  }

  resume(): void {
    const prints = this.#prints ?? [];
    this.#prints = null;
    for (const print of prints) print();
  }
}

const linesMaxOf = ({ rows }: CliStream): number => Math.max(2, rows === undefined || rows === 0 ? 24 : rows) - 1;

/** A terminal that became narrower has wrapped the lines on it. */
const linesWrapped = (lines: readonly string[], screenColumns: number): number =>
  lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(width(stripVTControlCharacters(line)) / screenColumns)), 0);
