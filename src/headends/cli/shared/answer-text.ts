// Shows on a terminal what the root of a run writes, while it writes it.
//
//   answer-shown-once. Whatever was streamed, the answer is shown whole, once and last.
//   answer-others-marked. Text that is not the answer is followed by a mark that says what became of it.
import { unifyLineBreaks } from '#base';
import type { RunEvent } from '#contracts';
import { renderText } from './markdown.ts';
import type { LineRenderer } from './markdown.ts';
import type { Paint } from './output.ts';
import { RootText } from './root-text.ts';
import { sanitizeBlock } from './sanitize-text.ts';

type AnswerTextOptions = { readonly paint: Paint; readonly newRenderer: () => LineRenderer };

/** An unfinished line that is longer is printed as far as it goes: it is laid out again for each drawing. */
const unfinishedMax = 16_384;

/** It may be JSON, which is printed when it is complete. */
const mayBeJson = /^\s*(?:\{|\[\s*["{[\d\-tfn\]])/u;

export class AnswerText {
  readonly #options: AnswerTextOptions;
  #renderer: LineRenderer;
  readonly #root = new RootText({ add: (piece) => this.#add(piece), close: (why) => this.#close(why) });
  /** What the current attempt wrote so far, and its last, unfinished line. */
  #text = '';
  #line = '';
  /** Lines to print, and whether the current attempt has any on the screen. */
  #lines: string[] = [];
  #isOpen = false;
  /** Empty lines, which are printed if something follows them. */
  #blanks = 0;

  constructor(options: AnswerTextOptions) {
    this.#options = options;
    this.#renderer = options.newRenderer();
  }

  note(event: RunEvent): void {
    this.#root.note(event);
  }

  /** Ignores text until a new attempt begins. */
  skip(): void {
    this.#root.skip();
  }

  /** The lines that are final since the last time. */
  takeLines(): readonly string[] {
    const lines = this.#lines;
    this.#lines = [];
    return lines;
  }

  /** The end of what was written, which may still change. */
  preview(): readonly string[] {
    if (this.#text === '' || this.#isHeldBack()) return [];
    const lines = this.#renderer.preview(sanitizeBlock(this.#line).trimEnd());
    return lines.length === 0 ? [] : [...Array<string>(this.#blanks).fill(''), ...lines];
  }

  /** The lines that are still to be printed when this is the answer; all of them, if nothing of it was shown. */
  finish(answer: string): readonly string[] {
    const [shown, whole] = [this.#text, answer.trimStart()];
    const isShown = shown.trim() !== '' && !this.#isHeldBack();
    const isStarted = isShown && whole.startsWith(shown);
    const isWhole = isShown && whole.trimEnd() === shown.trimEnd();
    this.#root.end(whole, isStarted || isWhole);
    if (isStarted) this.#add(whole.slice(shown.length));
    if (isStarted || isWhole) this.#endText();
    else {
      const text = sanitizeBlock(whole).trimEnd();
      if (text !== '') this.#push(renderText(text, this.#options.newRenderer()));
    }
    this.#startAttempt();
    this.#blanks = 0;
    return this.takeLines();
  }

  #add(piece: string): void {
    // White space before the text is not shown.
    const text = this.#text === '' ? piece.trimStart() : piece;
    this.#text += text;
    this.#line = joinLine(this.#line, text);
    if (this.#isHeldBack()) return;
    const end = this.#line.lastIndexOf('\n');
    if (end !== -1) {
      this.#print(this.#line.slice(0, end));
      this.#line = this.#line.slice(end + 1);
    }
    const space = this.#line.length > unfinishedMax ? this.#line.lastIndexOf(' ') : -1;
    if (space > 0) {
      this.#print(this.#line.slice(0, space));
      this.#line = this.#line.slice(space + 1);
    }
  }

  #isHeldBack(): boolean {
    return !this.#isOpen && mayBeJson.test(this.#text.slice(0, 200));
  }

  #print(text: string): void {
    for (const line of sanitizeBlock(text).split('\n')) this.#push(this.#renderer.add(line.trimEnd()));
    this.#isOpen = true;
  }

  #push(lines: readonly string[]): void {
    for (const line of lines) {
      if (line === '') this.#blanks++;
      else {
        this.#lines.push(...Array<string>(this.#blanks).fill(''), line);
        this.#blanks = 0;
      }
    }
  }

  #endText(): void {
    if (this.#line.trim() !== '' && !this.#isHeldBack()) this.#print(this.#line);
    this.#line = '';
    this.#push(this.#renderer.end());
  }

  #close(why: string): void {
    if (sanitizeBlock(this.#text).trim() !== '' && !this.#isHeldBack()) {
      this.#endText();
      const { paint, newRenderer } = this.#options;
      this.#lines.push(
        ...newRenderer()
          .add(`(${why})`)
          .map((line) => paint('dim', line)),
      );
      // Between the mark and whatever comes next.
      this.#blanks = 1;
    }
    this.#startAttempt();
  }

  #startAttempt(): void {
    this.#renderer = this.#options.newRenderer();
    [this.#text, this.#line, this.#isOpen] = ['', '', false];
  }
}

/** With `\n` for every line break, except for a `\r` at the end: it may be the first half of one. */
const joinLine = (line: string, text: string): string => {
  const [before, added] = line.endsWith('\r') ? [line.slice(0, -1), `\r${text}`] : [line, text];
  const end = added.endsWith('\r') ? added.length - 1 : added.length;
  return before + unifyLineBreaks(added.slice(0, end)) + added.slice(end);
};
