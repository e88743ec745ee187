// Where lines go: stdout for what was asked for, stderr for what is said about it.
import { styleText } from 'node:util';
import type { CliStream, CliWorld } from './cli-world.ts';
import { safeJson } from './sanitize-text.ts';

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan' | 'inverse';
export type Paint = (style: Style, text: string) => string;

/** One of the two streams. Foreign text must be harmless (`text.ts`) before it comes here. */
export type Page = {
  readonly paint: Paint;
  /** Columns that may be used without wrapping. */
  readonly columns: number;
  print(...lines: readonly string[]): void;
};

export type Output = {
  readonly out: Page;
  readonly err: Page;
  /** The value on stdout. There is exactly one: what comes later is not printed, and the answer is false. */
  json(value: unknown): boolean;
  /** One of many values, on a line of its own. */
  jsonLine(value: unknown): void;
  /** From now on nothing is written: the command was left, though parts of it may still run. */
  mute(): void;
};

export const openOutput = (world: CliWorld): Output => {
  let muted = false;
  let given = false;
  const page = (stream: CliStream): Page => ({
    paint: paintOn(world.colour && stream.isTTY === true),
    get columns() {
      return columnsOf(stream);
    },
    print: (...lines) => {
      if (!muted && lines.length > 0) stream.write(`${lines.join('\n')}\n`);
    },
  });
  const out = page(world.stdout);
  return {
    out,
    err: page(world.stderr),
    json: (value) => {
      if (given) return false;
      given = true;
      out.print(safeJson(value, 2));
      return true;
    },
    jsonLine: (value) => out.print(safeJson(value)),
    mute: () => {
      muted = true;
    },
  };
};

const columnsMin = 20;

/** One less than there are: writing into the last column leaves some terminals on the next line. */
export const columnsOf = ({ columns }: CliStream): number =>
  Math.max(columnsMin, columns === undefined || columns === 0 ? 80 : columns) - 1;

const paintOn = (colour: boolean): Paint =>
  colour ? (style, text) => styleText(style, text, { validateStream: false }) : (_style, text) => text;
