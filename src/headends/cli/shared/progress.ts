// The progress of a run: a live tree, plain lines, or nothing. Always on stderr.
import type { RunEvent, Task } from '#contracts';
import { activityText, newRunProgress, applyEvent } from './run-progress.ts';
import type { RunProgress, CellProgress } from './run-progress.ts';
import type { CommandContext, OutputFlags } from './define-command.ts';
import { eventLine } from './event-line.ts';
import { formatDuration, money, plural, compactNumber } from './format.ts';
import { graphScreen } from './task-lines.ts';
import { openLiveScreen } from './live-screen.ts';
import type { Drawing } from './live-screen.ts';
import type { Printer } from './output.ts';
import { sanitizeAll, truncateColumns } from './sanitize-text.ts';
import { cellsInTreeOrder, pickRows, rowText, treeLines } from './tree.ts';
import type { TreeRow } from './tree.ts';

export type Progress = {
  note(event: RunEvent): void;
  /** Shows a message of the command line itself. */
  notice(words: string): void;
  /** Lets `print` write whole lines, without disturbing what is drawn. */
  printAbove(print: () => void): void;
  close(): void;
};

type ProgressMode = 'tree' | 'lines' | 'verbose' | 'none';

export type RunOutputFlags = OutputFlags & { readonly jsonl: boolean };

/** Two programs must not draw on one terminal: a stdout that is piped may feed a pager. */
export const progressMode = ({ json, jsonl, verbose }: RunOutputFlags, { terminal }: ProgressWorld): ProgressMode => {
  if (verbose) return 'verbose';
  if (json || jsonl) return 'none';
  return terminal.stdout.isTTY === true && terminal.stderr.isTTY === true ? 'tree' : 'lines';
};

/** What is known about a run in addition to new events. */
type RunSnapshot = {
  /** Built from the events so far. */
  readonly runProgress?: RunProgress;
  /** The tasks of a team in their current state. */
  readonly tasks?: (() => Iterable<Task>) | undefined;
};

/** Where and when progress is drawn. */
type ProgressWorld = Pick<CommandContext, 'output' | 'terminal' | 'system'>;

export const openProgress = (
  mode: ProgressMode,
  world: ProgressWorld,
  { runProgress = newRunProgress(), tasks }: RunSnapshot = {},
): Progress => {
  const { err } = world.output;
  switch (mode) {
    case 'tree':
      return openTree(world, { runProgress, tasks });
    case 'lines':
    case 'verbose':
      return openLines(err, mode === 'verbose', runProgress);
    case 'none':
      return { note: () => {}, notice: (words) => err.print(words), printAbove, close: () => {} };
  }
};

/** Nothing is drawn. */
const printAbove = (print: () => void): void => print();

const openLines = (err: Printer, verbose: boolean, runProgress: RunProgress): Progress => ({
  note: (event) => {
    if (!('id' in event)) return;
    const sanitized = sanitizeAll(event);
    applyEvent(runProgress, sanitized);
    const line = eventLine(sanitized, runProgress, verbose);
    if (line !== null) err.print(line);
  },
  notice: (words) => err.print(words),
  printAbove,
  close: () => {},
});

const openTree = (
  { output: { err }, terminal, system }: ProgressWorld,
  { runProgress, tasks }: RunSnapshot & { readonly runProgress: RunProgress },
): Progress => {
  let notice = '';
  const drawing: Drawing = ({ columns, linesMax }) => {
    const footer = notice === '' ? [] : [err.paint('yellow', truncateColumns(notice, columns))];
    if (runProgress.tasks.size > 0) {
      const total = describeTotal(runProgress, system.now());
      const screen = { columns, linesMax: linesMax - footer.length, paint: err.paint };
      return [...graphScreen({ runProgress, tasks: tasks?.(), total }, screen), ...footer];
    }
    const all = progressRows(runProgress, system.now());
    // Room for the heading, the total and, if rows are left out, a line that says so.
    const roomy = pickRows(all, linesMax - footer.length - 2);
    const { rows, hidden } = roomy.hidden === 0 ? roomy : pickRows(all, linesMax - footer.length - 3);
    const more = hidden === 0 ? [] : [err.paint('dim', truncateColumns(`  … ${hidden} more`, columns))];
    return [
      ...treeLines(rows, columns, err.paint),
      ...more,
      err.paint('dim', truncateColumns(describeTotal(runProgress, system.now()), columns)),
      ...footer,
    ];
  };
  const screen = openLiveScreen(terminal.stderr, system, drawing);
  return {
    note: (event) => {
      if ('id' in event) applyEvent(runProgress, sanitizeAll(event));
    },
    notice: (words) => {
      notice = words;
    },
    printAbove: (print) => screen.printAbove(print),
    close: () => screen.close(),
  };
};

const progressRows = (runProgress: RunProgress, now: number): readonly TreeRow[] =>
  cellsInTreeOrder([...runProgress.cells.values()]).map(({ node: view, branch }) => ({
    state: view.status ?? 'running',
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

const elapsedMs = ({ startedAt, downMs, endedAt }: CellProgress, now: number): number => {
  if (endedAt !== null) return endedAt - startedAt - downMs;
  // Whole tenths of a second, so that the drawing changes no more often than it is drawn.
  return Math.max(0, Math.floor((now - startedAt - downMs) / 100) * 100);
};

const describeTotal = (runProgress: RunProgress, now: number): string => {
  const cells = [...runProgress.cells.values()];
  const sum = (of: (view: CellProgress) => number): number => cells.reduce((total, view) => total + of(view), 0);
  const usd = cells.some((view) => view.usd === null) ? null : sum((view) => view.usd ?? 0);
  const root = cells.find(({ parent }) => parent === null);
  const tokens = `${compactNumber(sum((view) => view.inputTokens))} in, ${compactNumber(sum((view) => view.outputTokens))} out`;
  const time = root === undefined ? '' : ` · ${formatDuration(elapsedMs(root, now))}`;
  return `  ${plural(cells.length, 'cell')} · ${tokens} · ${money(usd)}${time}`;
};
