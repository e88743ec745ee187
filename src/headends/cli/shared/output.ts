// Output: results go to stdout, everything about them to stderr.
import { styleText } from 'node:util';
import type { CliStream, CliTerminal } from './cli-world.ts';
import { safeJson } from './sanitize-text.ts';

export type Style =
  | 'bold'
  | 'dim'
  | 'italic'
  | 'underline'
  | 'strikethrough'
  | 'red'
  | 'green'
  | 'yellow'
  | 'cyan'
  | 'inverse';
export type Paint = (style: Style, text: string) => string;

/** Prints to one of the two streams. Foreign text must be sanitized first (`sanitize-text.ts`). */
export type Printer = {
  readonly paint: Paint;
  readonly isTerminal: boolean;
  /** Columns that can be used without wrapping. */
  readonly columns: number;
  print(...lines: readonly string[]): void;
  /** Without a line break. */
  write(text: string): void;
};

/** What lines are fitted to. */
export type Screen = Pick<Printer, 'paint' | 'columns'>;

export type Output = {
  readonly out: Printer;
  readonly err: Printer;
  /** Prints the one JSON value on stdout. Later values are not printed, and it returns false. */
  json(value: unknown): boolean;
  /** Prints the result of a command on stdout: as the one JSON value, or as lines for people. */
  result(json: boolean, value: unknown, lines: (printer: Printer) => readonly string[]): void;
  /** Prints one of many values, on its own line. */
  jsonLine(value: unknown): void;
  /** Stops all output: the command has ended, though parts of it may still be running. */
  mute(): void;
};

export const openOutput = (terminal: CliTerminal): Output => {
  let muted = false;
  let given = false;
  const printer = (stream: CliStream): Printer => {
    const write = (text: string): void => {
      if (!muted && text !== '') stream.write(text);
    };
    return {
      isTerminal: stream.isTTY === true,
      paint: paintOn(terminal.colour && stream.isTTY === true),
      get columns() {
        return columnsOf(stream);
      },
      write,
      print: (...lines) => write(joinLines(lines)),
    };
  };
  const out = printer(terminal.stdout);
  const json = (value: unknown): boolean => {
    if (given) return false;
    given = true;
    out.print(safeJson(value, 2));
    return true;
  };
  return {
    out,
    err: printer(terminal.stderr),
    json,
    result: (asJson, value, lines) => {
      if (asJson) json(value);
      // Not as arguments: a report of a long run has more lines than a call takes.
      else out.write(joinLines(lines(out)));
    },
    jsonLine: (value) => out.print(safeJson(value)),
    mute: () => {
      muted = true;
    },
  };
};

const joinLines = (lines: readonly string[]): string => (lines.length === 0 ? '' : `${lines.join('\n')}\n`);

const columnsMin = 20;

/** One less than the terminal has: writing to the last column moves some terminals to the next line. */
export const columnsOf = ({ columns }: CliStream): number =>
  Math.max(columnsMin, columns === undefined || columns === 0 ? 80 : columns) - 1;

const paintOn = (colour: boolean): Paint =>
  colour ? (style, text) => styleText(style, text, { validateStream: false }) : (_style, text) => text;
