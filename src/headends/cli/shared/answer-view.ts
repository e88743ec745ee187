// How the answer of a run reaches stdout: streamed and rendered on a terminal; in a pipe at the end, or with --stream as it comes.
import { stripVTControlCharacters } from 'node:util';
import { StreamedText } from '#base';
import type { Outcome, RunEvent } from '#contracts';
import { AnswerText } from './answer-text.ts';
import type { CommandContext, OutputFlags } from './define-command.ts';
import { markdownRenderer, plainRenderer } from './markdown.ts';
import type { LineRenderer } from './markdown.ts';
import type { Printer } from './output.ts';
import { RootText } from './root-text.ts';
import { removeControls, sanitizeBlock } from './sanitize-text.ts';

/** How the answer is printed. */
export type AnswerFlags = { readonly plain: boolean; readonly stream: boolean };

type AnswerOutcome = Pick<Outcome, 'output' | 'data'>;

export type AnswerView = {
  note(event: RunEvent): void;
  /** Ignores text until a new attempt begins. */
  skip(): void;
  /** Prints the answer, or what is missing of it. */
  print(outcome: AnswerOutcome): void;
  /** On a terminal: what was streamed and not printed yet. */
  readonly text: Pick<AnswerText, 'takeLines' | 'preview'> | null;
};

export const openAnswerView = (
  { json, plain, stream }: OutputFlags & AnswerFlags,
  { terminal, output: { out } }: Pick<CommandContext, 'terminal' | 'output'>,
): AnswerView => {
  if (terminal.stdout.isTTY === true && !json) return terminalView(out, plain);
  return stream && !json ? pipedView(out) : finalView(out);
};

/** Renders text for this printer. */
export const newTextRenderer = (printer: Printer, plain: boolean): LineRenderer =>
  plain ? plainRenderer(printer) : markdownRenderer(printer);

const terminalView = (out: Printer, plain: boolean): AnswerView => {
  const text = new AnswerText({ paint: out.paint, newRenderer: () => newTextRenderer(out, plain) });
  return {
    text,
    note: (event) => text.note(event),
    skip: () => text.skip(),
    print: (outcome) =>
      out.print(...(outcome.data === null ? text.finish(outcome.output) : [...text.finish(''), jsonLines(outcome)])),
  };
};

const finalView = (out: Printer): AnswerView => ({
  text: null,
  note: () => {},
  skip: () => {},
  print: (outcome) => {
    // If JSON was requested, print nothing but JSON: a program reads it.
    if (outcome.data !== null) out.print(jsonLines(outcome));
    else if (outcome.output !== '') out.print(sanitizeBlock(outcome.output).trimEnd());
  },
});

/** May be an unfinished control sequence. */
const openSequence = new RegExp(String.raw`[${'\u001B\u009B'}][^\n]{0,200}$`, 'u');
/** What the text may end with only if something follows: half of a surrogate pair, and white space. */
const openEnd = /[\uD800-\uDBFF]?\s*$/u;

const pipedView = (out: Printer): AnswerView => {
  let streamed = new StreamedText();
  /** What was written of the attempt, and what is written if something follows. */
  let [sent, held, hasWritten] = ['', '', false];
  const write = (piece: string): void => {
    const all = held + piece;
    const [unfinished = ''] = openSequence.exec(all) ?? [];
    const text = stripVTControlCharacters(all.slice(0, all.length - unfinished.length));
    const end = text.search(openEnd);
    held = text.slice(end) + unfinished;
    const ready = removeControls(text.slice(0, end));
    if (ready === '') return;
    out.write(ready);
    hasWritten = true;
  };
  const root = new RootText({
    add: (piece) => {
      sent += piece;
      write(streamed.add(piece));
    },
    close: (why) => {
      if (sanitizeBlock(sent).trim() !== '') {
        out.write(`\n(${why})`);
        held = '\n\n';
      }
      streamed = new StreamedText();
      sent = '';
    },
  });
  return {
    text: null,
    note: (event) => root.note(event),
    skip: () => root.skip(),
    print: ({ output }) => {
      root.end(output, output.trimEnd().startsWith(sent.trimEnd()));
      write(streamed.finish(output));
      const rest = sanitizeBlock(held).trimEnd();
      if (rest !== '' || hasWritten) out.write(`${rest}\n`);
      streamed = new StreamedText();
      [sent, held, hasWritten] = ['', '', false];
    },
  };
};

/** On several lines, unless that would change the order of keys: JavaScript moves keys such as "2" and "10" to the front. */
const jsonLines = ({ output, data }: AnswerOutcome): string =>
  JSON.stringify(data) === output ? JSON.stringify(data, null, 2) : output;
