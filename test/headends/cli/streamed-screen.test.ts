import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RunEvent } from 'cloister';
import { applyEvent, newRunView } from '#headends/run-view';
import { newTextRenderer, openAnswerView } from '../../../src/headends/cli/shared/answer-view.ts';
import { eventLine, fitEventLine } from '../../../src/headends/cli/shared/event-line.ts';
import { renderText } from '../../../src/headends/cli/shared/markdown.ts';
import { openOutput } from '../../../src/headends/cli/shared/output.ts';
import { openProgress } from '../../../src/headends/cli/shared/progress.ts';
import { sanitizeBlock } from '../../../src/headends/cli/shared/sanitize-text.ts';
import { testRuns } from '../../test-seed.ts';
import { eventsOf, leadId, runId, scene, startAt } from './driver.ts';
import { TerminalScreen } from './terminal-screen.ts';

type Mode = 'tree' | 'lines' | 'verbose';

/** What happens while an answer is written. */
type Step =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tick' }
  /** The next event of other cells. */
  | { readonly type: 'event' }
  /** The model calls a tool, or is asked again. */
  | { readonly type: 'call' | 'retry' }
  /** A question takes the terminal, or gives it back. */
  | { readonly type: 'pause' }
  | { readonly type: 'resize'; readonly columns: number; readonly rows: number };

const pieces = fc.constantFrom(
  'a',
  'bc d',
  ' ',
  'long words and ',
  '\n',
  '\n\n',
  '界界',
  '😀',
  'e\u0301',
  '**',
  '`',
  '- ',
  '# ',
  '> ',
  '1. ',
  '```\n',
  '|',
  '| a | b |\n',
  '| - | - |\n',
  '\u001B[2J',
  '\u001B[31m',
  '\r',
  '\r\n',
  '\u2028',
  'x'.repeat(50),
);
const texts: fc.Arbitrary<Step> = pieces.map((text) => ({ type: 'text', text }));
const happenings: fc.Arbitrary<Step> = fc
  .constantFrom('tick' as const, 'event', 'call', 'retry', 'pause')
  .map((type) => ({ type }));
const resizes: fc.Arbitrary<Step> = fc
  .record({ columns: fc.integer({ min: 20, max: 120 }), rows: fc.integer({ min: 2, max: 40 }) })
  .map((size) => ({ type: 'resize', ...size }));
const steps = (...more: readonly fc.WeightedArbitrary<Step>[]): fc.Arbitrary<readonly Step[]> =>
  fc.array(fc.oneof({ weight: 5, arbitrary: texts }, { weight: 2, arbitrary: happenings }, ...more), {
    minLength: 1,
    maxLength: 60,
    size: 'max',
  });

const sizes = { columns: fc.integer({ min: 20, max: 120 }), rows: fc.integer({ min: 2, max: 40 }) };
const settings = fc.record({
  ...sizes,
  mode: fc.constantFrom<Mode>('tree', 'lines', 'verbose'),
  plain: fc.boolean(),
  colour: fc.boolean(),
});
type Settings = typeof settings extends fc.Arbitrary<infer T> ? T : never;

const of = { run: runId, cell: leadId, agent: 'lead' };
const [started, ...background] = eventsOf(scene({ children: 3 }));
const called = (['model-end', 'tool-start'] as const).map((wanted) => background.find(({ type }) => type === wanted)!);

/** Runs these steps on a terminal; returns what is on it, and what should be. */
const show = (given: readonly Step[], { columns, rows, mode, plain, colour }: Settings) => {
  const screen = new TerminalScreen(columns, rows);
  let resume: (() => void) | null = null;
  const giveBack = (): void => {
    const before = resume;
    resume = null;
    before?.();
  };
  const stream = {
    isTTY: true,
    write: (text: string) => {
      if (resume !== null) throw new Error(`Written while paused: ${JSON.stringify(text)}`);
      screen.write(text);
    },
    get columns() {
      return screen.columns;
    },
    get rows() {
      return screen.rows;
    },
  };
  let due: (() => void) | undefined;
  const timer = (_ms: number, then: () => void) => {
    due = then;
    return () => (due = undefined);
  };
  const terminal = {
    stdout: stream,
    stderr: stream,
    colour,
    stdin: async () => null,
    lines: () => null!,
    edit: async () => null,
  };
  const output = openOutput(terminal);
  const system = { now: () => startAt, timer } as unknown as Parameters<typeof openProgress>[1]['system'];
  const world = { terminal, output, system };
  const view = openAnswerView({ json: false, verbose: false, plain, stream: false }, world);
  const progress = openProgress(mode, world, { answer: view.text });
  const shadow = newRunView();
  const eventLines: (readonly string[])[] = [];
  const note = (event: RunEvent): void => {
    view.note(event);
    progress.note(event);
    if (!('id' in event)) return;
    applyEvent(shadow, event);
    const line = mode === 'tree' ? null : eventLine(event, shadow, mode === 'verbose');
    if (line !== null) eventLines.push(fitEventLine(line, output.err.columns).map((one) => one.trimEnd()));
  };
  note(started!);

  const textLines: string[] = [];
  let text = '';
  const endAttempt = (mark: string): void => {
    if (sanitizeBlock(text).trim() === '') return;
    textLines.push(...rendered(text), ...rendered(mark));
  };
  const rendered = (words: string): readonly string[] => {
    const source = sanitizeBlock(words.trimStart()).trimEnd().replaceAll(/ +$/gmu, '');
    const lines = renderText(source, newTextRenderer(output.out, plain));
    const sheet = new TerminalScreen(1_000, 1_000);
    sheet.write(lines.join('\n'));
    return sheet.wholeLines.filter((line) => line !== '');
  };
  const others = background.filter(({ cell }) => cell !== leadId);
  const take = (step: Step): void => {
    switch (step.type) {
      case 'text':
        text += step.text;
        return note({ ...of, type: 'text-delta', text: step.text });
      case 'tick':
        return due?.();
      case 'event': {
        const event = others.shift();
        if (event !== undefined) note(event);
        return;
      }
      case 'call':
        for (const event of called) note({ ...event, ...of });
        endAttempt('(said before calling search)');
        text = '';
        return note({ ...of, type: 'text-reset' });
      case 'retry':
        endAttempt('(taken back: the model was asked again)');
        text = '';
        return note({ ...of, type: 'text-reset' });
      case 'pause':
        if (resume === null) resume = progress.pause();
        else giveBack();
        return;
      case 'resize':
        return screen.resize(step.columns, step.rows);
    }
  };
  note({ ...of, type: 'text-reset' });
  for (const step of given) take(step);
  giveBack();
  progress.erase();
  view.print({ output: text, data: null });
  textLines.push(...rendered(text));
  return { screen, textLines, eventLines };
};

/** Words that are found only once. */
const numbered = (step: Step, at: number): Step =>
  step.type === 'text' ? { ...step, text: step.text.replaceAll('a', ` w${at}q `) } : step;

const isEvent = (line: string): boolean => /^\d\d:\d\d:\d\d /u.test(line);

describe('an answer that is streamed to a terminal', () => {
  // invariants: answer-shown-once, answer-others-marked, screen-cursor-below, screen-drawing-fits, screen-paused-silent, prompt-alone
  test('is shown whole and once, in whatever pieces it comes, and no line of progress tears it', () =>
    fc.assert(
      fc.property(steps(), settings, (given, setting) => {
        const { screen, textLines, eventLines } = show(given, setting);
        const lines = screen.wholeLines.filter((line) => line !== '');
        const others: string[] = [];
        while (lines.length > 0) {
          const event = isEvent(lines[0]!) ? eventLines.shift() : undefined;
          if (event === undefined) others.push(lines.shift()!);
          else expect(lines.splice(0, event.length)).toEqual(event);
        }
        expect(others).toEqual(textLines);
        expect(eventLines).toEqual([]);
        expect(screen.cursorVisible).toBe(true);
      }),
      { numRuns: testRuns(1_000) },
    ));

  test('keeps its empty lines', () =>
    fc.assert(
      fc.property(fc.array(fc.oneof(texts, fc.constant<Step>({ type: 'tick' }))), settings, (given, setting) => {
        const whole = given.map((step) => (step.type === 'text' ? step.text : '')).join('');
        const atOnce = show([{ type: 'text', text: whole }], { ...setting, mode: 'tree' });
        expect(show(given, { ...setting, mode: 'tree' }).screen.wholeLines).toEqual(atOnce.screen.wholeLines);
      }),
      { numRuns: testRuns(500) },
    ));

  test('is whole after the terminal was resized in the middle of it', () =>
    fc.assert(
      fc.property(steps({ weight: 1, arbitrary: resizes }), settings, (given, setting) => {
        const { screen, textLines } = show(given.map(numbered), setting);
        // What has scrolled away cannot be erased, so parts of older drawings may stay in between.
        const shown = screen.wholeLines.join('\n');
        let at = 0;
        for (const [word] of textLines.join('\n').matchAll(/w\d+q/gu)) {
          const found = shown.indexOf(word, at);
          expect(found, `${word} in ${shown}`).toBeGreaterThanOrEqual(0);
          at = found + word.length;
        }
        expect(screen.cursorVisible).toBe(true);
      }),
      { numRuns: testRuns(1_000) },
    ));
});
