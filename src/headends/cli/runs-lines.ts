// The runs of a workspace, one line each; what was interrupted stands out.
import type { RunSummary } from '#contracts';
import { count, dateTime } from './figures.ts';
import type { Page } from './output.ts';
import { ownCommand } from './own-command.ts';
import { tableLines } from './table.ts';
import { excerpt, oneLine } from './text.ts';
import { mark, rowText } from './tree.ts';
import type { State } from './tree.ts';

/** The runs must be harmless. */
export const runsLines = (
  runs: readonly RunSummary[],
  workspace: string,
  { paint, columns }: Page,
): readonly string[] => {
  if (runs.length === 0)
    return [
      `There are no runs in ${oneLine(workspace)} yet.`,
      'Start one with `cloister demo` or `cloister run <agent> "<input>"`.',
    ];
  const rows = runs.map((run) => [
    run.run,
    rowText(run.agent),
    `${mark(stateOf(run))} ${stateOf(run)}`,
    count(run.cells),
    dateTime(run.startedAt),
    excerpt(run.goal, 60),
  ]);
  const [heading = '', ...lines] = tableLines(
    [
      { title: 'run' },
      { title: 'agent', shrinksTo: 8 },
      { title: 'state' },
      { title: 'cells', align: 'right' },
      { title: 'started' },
      { title: 'goal', shrinksTo: 8 },
    ],
    rows,
    columns,
  );
  const interrupted = runs.filter((run) => stateOf(run) === 'interrupted');
  return [
    paint('dim', heading),
    ...lines.map((line, index) => (interrupted.includes(runs[index]!) ? paint('yellow', line) : line)),
    ...interruptedLines(interrupted, workspace),
  ];
};

const stateOf = ({ state, status }: RunSummary): State => (state === 'ended' ? (status ?? 'interrupted') : state);

const interruptedLines = ([newest, ...others]: readonly RunSummary[], workspace: string): readonly string[] => {
  if (newest === undefined) return [];
  const words =
    others.length === 0
      ? 'One run was interrupted. Go on with it:'
      : `${count(others.length + 1)} runs were interrupted. Go on with the newest of them:`;
  return ['', words, `  ${ownCommand(`resume ${newest.run}`, workspace)}`];
};
