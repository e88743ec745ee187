// The runs of a workspace, one line each; what was interrupted, or has lost something, stands out. Who asked is told where others
// were served.
import type { RunSummary } from '#contracts';
import { count, dateTime } from './format-numbers.ts';
import type { Page, Style } from './output.ts';
import { cloisterCommand } from './cloister-command.ts';
import { tableLines } from './table.ts';
import { excerpt, sanitizeLine } from './sanitize-text.ts';
import { stateMark, rowText } from './tree.ts';

/** The runs must be harmless. */
export const runsLines = (
  runs: readonly RunSummary[],
  workspace: string,
  { paint, columns }: Page,
): readonly string[] => {
  if (runs.length === 0)
    return [
      `There are no runs in ${sanitizeLine(workspace)} yet.`,
      'Start one with `cloister demo` or `cloister run <agent> "<input>"`.',
    ];
  const wereServed = runs.some(({ caller }) => caller !== null);
  const rows = runs.map((run) => [
    run.run,
    rowText(run.agent),
    stateWords(run),
    isUnknown(run) ? '' : count(run.cells),
    run.startedAt === 0 ? '' : dateTime(run.startedAt),
    ...(wereServed ? [excerpt(run.caller ?? '', 40)] : []),
    excerpt(run.goal, 60),
  ]);
  const [heading = '', ...lines] = tableLines(
    [
      { title: 'run' },
      { title: 'agent', shrinksTo: 8 },
      { title: 'state' },
      { title: 'cells', align: 'right' },
      { title: 'started' },
      ...(wereServed ? [{ title: 'asked by', shrinksTo: 8 }] : []),
      { title: 'goal', shrinksTo: 8 },
    ],
    rows,
    columns,
  );
  const interrupted = runs.filter(({ state }) => state === 'interrupted');
  return [
    paint('dim', heading),
    ...lines.map((line, index) => {
      const style = styles[runs[index]!.state];
      return style === undefined ? line : paint(style, line);
    }),
    ...interruptedLines(interrupted, workspace),
    ...elsewhereLines(runs, workspace),
    ...damagedLines(runs, workspace),
  ];
};

const styles: Readonly<Partial<Record<RunSummary['state'], Style>>> = { interrupted: 'yellow', damaged: 'red' };

const stateWords = ({ state, status }: RunSummary): string => {
  if (state === 'damaged') return '✗ damaged';
  const told = state === 'ended' ? (status ?? 'interrupted') : state;
  return `${stateMark(told)} ${told}`;
};

/** Its entry in the list is gone. */
const isUnknown = ({ state, cells }: RunSummary): boolean => state === 'damaged' && cells === 0;

const interruptedLines = ([newest, ...others]: readonly RunSummary[], workspace: string): readonly string[] => {
  if (newest === undefined) return [];
  const words =
    others.length === 0
      ? 'One run was interrupted. Go on with it:'
      : `${count(others.length + 1)} runs were interrupted. Go on with the newest of them:`;
  return ['', words, `  ${cloisterCommand(`resume ${newest.run}`, workspace)}`];
};

/** The newest of them; the table has them all. */
const toldMax = 5;

const elsewhereLines = (runs: readonly RunSummary[], workspace: string): readonly string[] =>
  runs
    .filter(({ elsewhere }) => elsewhere === true)
    .slice(0, toldMax)
    .flatMap(({ run, owner }) => [
      '',
      `Run ${run} has ${sanitizeLine(owner ?? 'an owner')}. If it does not, go on with the run here:`,
      `  ${cloisterCommand(`resume ${run} --take-over`, workspace)}`,
    ]);

const damagedLines = (runs: readonly RunSummary[], workspace: string): readonly string[] => {
  const found = runs.filter(({ state }) => state === 'damaged');
  if (found.length === 0) return [];
  const words = found.length === 1 ? 'One run has lost records' : `${count(found.length)} runs have lost records`;
  const commands = found.slice(0, toldMax).map(({ run }) => `  ${cloisterCommand(`audit ${run}`, workspace)}`);
  const of = found.length > toldMax ? ' of the newest' : '';
  return ['', `${words}. What is missing${of}:`, ...commands];
};
