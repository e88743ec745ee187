// The progress of a run: a live tree, plain lines, or nothing. Always on stderr.
import type { RunEvent, Task } from '#contracts';
import {
  activityText,
  applyEvent,
  compactNumber,
  formatDuration,
  newRunView,
  plural,
  waitedMsUntil,
  workedMs,
} from '#headends/run-view';
import type { CellView, RunView } from '#headends/run-view';
import type { AnswerFlags, AnswerView } from './answer-view.ts';
import type { CommandContext, OutputFlags } from './define-command.ts';
import { eventLine, fitEventLine } from './event-line.ts';
import { describeCost, waitedText } from './format.ts';
import { graphScreen } from './task-lines.ts';
import { HeldPrints, openLiveScreen } from './live-screen.ts';
import type { Drawing } from './live-screen.ts';
import { sanitizeAll, truncateColumns } from './sanitize-text.ts';
import { cellsInTreeOrder, pickRows, rowText, treeLines } from './tree.ts';
import type { TreeRow } from './tree.ts';

export type Progress = {
  note(event: RunEvent): void;
  /** Shows a message of the command line itself. */
  notice(words: string): void;
  /** Lets `print` write whole lines, without disturbing what is drawn. */
  printAbove(print: () => void): void;
  /** Leaves the terminal to a question, until the returned function is called. */
  pause(): () => void;
  close(): void;
  /** Closes it, and leaves nothing of what is drawn. */
  erase(): void;
};

type ProgressMode = 'tree' | 'lines' | 'verbose' | 'none';

export type RunOutputFlags = OutputFlags & AnswerFlags & { readonly jsonl: boolean };

/** Two programs must not draw on one terminal: a stdout that is piped may feed a pager. */
export const progressMode = (
  { json, jsonl, verbose }: OutputFlags & { readonly jsonl: boolean },
  { terminal }: ProgressWorld,
): ProgressMode => {
  if (verbose) return 'verbose';
  if (json || jsonl) return 'none';
  return terminal.stdout.isTTY === true && terminal.stderr.isTTY === true ? 'tree' : 'lines';
};

/** What is known about a run in addition to new events. */
type RunSnapshot = {
  /** Built from the events so far. */
  readonly runView?: RunView;
  /** The tasks of a team in their current state. */
  readonly tasks?: (() => Iterable<Task>) | undefined;
  /** The answer on a terminal, as far as it is written. */
  readonly answer?: AnswerView['text'];
};

/** Where and when progress is drawn. */
type ProgressWorld = Pick<CommandContext, 'output' | 'terminal' | 'system'>;

export const openProgress = (
  mode: ProgressMode,
  world: ProgressWorld,
  { runView = newRunView(), tasks, answer = null }: RunSnapshot = {},
): Progress => {
  const { err } = world.output;
  switch (mode) {
    case 'tree':
      return openTree(world, { runView, tasks, answer });
    case 'lines':
    case 'verbose':
      return openLines(world, { verbose: mode === 'verbose', runView, answer });
    case 'none':
      return { ...openPlainScreen(), note: () => {}, notice: (words) => err.print(words) };
  }
};

type PlainScreen = Pick<Progress, 'printAbove' | 'pause' | 'close' | 'erase'>;

const openPlainScreen = (): PlainScreen => {
  const held = new HeldPrints();
  const resume = (): void => held.resume();
  return {
    printAbove: (print) => held.print(print, (now) => now()),
    pause: () => {
      held.pause();
      return resume;
    },
    close: resume,
    erase: resume,
  };
};

type LinesOptions = {
  readonly verbose: boolean;
  readonly runView: RunView;
  readonly answer: AnswerView['text'];
};

/** On a terminal, lines are printed above the end of the answer, which is still being written. */
const openLines = (world: ProgressWorld, { verbose, runView, answer }: LinesOptions): Progress => {
  const { err } = world.output;
  const screen = answer === null ? openPlainScreen() : openAnswerScreen(world, answer, () => []);
  const fit = (line: string): readonly string[] =>
    world.terminal.stderr.isTTY === true ? fitEventLine(line, err.columns) : [line];
  return {
    ...screen,
    note: (event) => {
      if (!('id' in event)) return;
      const sanitized = sanitizeAll(event);
      applyEvent(runView, sanitized);
      const line = eventLine(sanitized, runView, verbose);
      if (line !== null) screen.printAbove(() => err.print(...fit(line)));
    },
    notice: (words) => screen.printAbove(() => err.print(words)),
  };
};

/** Draws the unfinished end of the answer, and `below` under it. Whatever of the answer is final is printed above. */
const openAnswerScreen = (
  { terminal: { stdout, stderr }, output: { out }, system }: ProgressWorld,
  answer: AnswerView['text'],
  below: Drawing,
): PlainScreen => {
  const takeAbove = (): (() => void) | null => {
    const lines = answer?.takeLines() ?? [];
    return lines.length === 0 ? null : () => out.print(...lines);
  };
  const drawing: Drawing = ({ columns, linesMax }) => {
    const text = answer?.preview() ?? [];
    if (text.length === 0) return below({ columns, linesMax });
    const under = below({ columns, linesMax: Math.max(3, Math.floor(linesMax / 2)) });
    const rows = Math.max(1, linesMax - under.length - 1);
    return [...text.slice(-rows), ...(under.length === 0 ? [] : ['', ...under])];
  };
  const screen = openLiveScreen(stderr.isTTY === true ? stderr : stdout, system, drawing, takeAbove);
  return {
    ...screen,
    printAbove: (print) =>
      screen.printAbove(() => {
        takeAbove()?.();
        print();
      }),
  };
};

const openTree = (
  world: ProgressWorld,
  { runView, tasks, answer = null }: RunSnapshot & { readonly runView: RunView },
): Progress => {
  const {
    output: { err },
    system,
  } = world;
  let notice = '';
  const drawing: Drawing = ({ columns, linesMax }) => {
    const footer = notice === '' ? [] : [err.paint('yellow', truncateColumns(notice, columns))];
    if (runView.tasks.size > 0) {
      const total = describeTotal(runView, system.now());
      const screen = { columns, linesMax: linesMax - footer.length, paint: err.paint };
      return [...graphScreen({ runView, tasks: tasks?.(), total }, screen), ...footer];
    }
    const all = progressRows(runView, system.now());
    // Room for the heading, the total and, if rows are left out, a line that says so.
    const roomy = pickRows(all, linesMax - footer.length - 2);
    const { rows, hidden } = roomy.hidden === 0 ? roomy : pickRows(all, linesMax - footer.length - 3);
    const more = hidden === 0 ? [] : [err.paint('dim', truncateColumns(`  … ${hidden} more`, columns))];
    return [
      ...treeLines(rows, columns, err.paint),
      ...more,
      err.paint('dim', truncateColumns(describeTotal(runView, system.now()), columns)),
      ...footer,
    ];
  };
  const screen = openAnswerScreen(world, answer, drawing);
  return {
    ...screen,
    note: (event) => {
      if ('id' in event) applyEvent(runView, sanitizeAll(event));
    },
    notice: (words) => {
      notice = words;
      // At once: the run may end before the next drawing.
      screen.printAbove(() => {});
    },
  };
};

const progressRows = (runView: RunView, now: number): readonly TreeRow[] =>
  cellsInTreeOrder([...runView.cells.values()]).map(({ node: view, branch }) => ({
    state: view.status ?? (view.wait.since === null ? 'running' : 'waiting'),
    branch,
    name: rowText(view.agent),
    activity: rowText(activityText(view)),
    turns: view.turns,
    tools: view.tools,
    inputTokens: view.inputTokens,
    outputTokens: view.outputTokens,
    usd: view.usd,
    ms: elapsedMs(view, now),
  }));

/** Its working time. */
const elapsedMs = (cell: CellView, now: number): number => {
  const ms = workedMs(cell, now);
  // Whole tenths of a second, so that the drawing changes no more often than it is drawn.
  return cell.endedAt === null ? Math.floor(ms / 100) * 100 : ms;
};

/** The totals of a run so far, on one line. */
export const describeTotal = (runView: RunView, now: number): string => {
  const cells = [...runView.cells.values()];
  const sum = (of: (view: CellView) => number): number => cells.reduce((total, view) => total + of(view), 0);
  const usd = cells.some((view) => view.usd === null) ? null : sum((view) => view.usd ?? 0);
  const root = cells.find(({ parent }) => parent === null);
  const tokens = `${compactNumber(sum((view) => view.inputTokens))} in, ${compactNumber(sum((view) => view.outputTokens))} out`;
  const time =
    root === undefined
      ? ''
      : ` · ${formatDuration(elapsedMs(root, now))}${waitedText(waitedMsUntil(root.wait, root.endedAt ?? now))}`;
  return `  ${plural(cells.length, 'cell')} · ${tokens} · ${describeCost(usd)}${time}`;
};
