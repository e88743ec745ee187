// Formats a list of checkpoints, and the differences between two.
import type { Checkpoint, CheckpointDiff } from '#contracts';
import { formatConversation } from './shared/resolve-name.ts';
import { count, dateTime, plural } from './shared/format-numbers.ts';
import type { Printer } from './shared/output.ts';
import { fittingColumns, tableLines } from './shared/table.ts';
import type { Column } from './shared/table.ts';
import { truncateColumns, sanitizeLine, wrapText } from './shared/sanitize-text.ts';
import { rowText } from './shared/tree.ts';

type Screen = Pick<Printer, 'paint' | 'columns'>;
type CheckpointColumn = Column & { value(one: Checkpoint): string };

const checkpointColumns: readonly CheckpointColumn[] = [
  { title: 'checkpoint', value: ({ id }) => id },
  { title: 'agent', shrinksTo: 8, value: ({ agent }) => rowText(agent) },
  { title: 'taken', value: ({ at }) => dateTime(at) },
  { title: 'trigger', dropOrder: 3, value: ({ why }) => (why === 'asked' ? 'manual' : why) },
  { title: 'run', dropOrder: 2, value: ({ run }) => run },
  { title: 'records', align: 'right', dropOrder: 1, value: ({ frames }) => count(frames) },
  {
    title: 'conversation',
    shrinksTo: 8,
    dropOrder: 4,
    value: ({ conversation }) => (conversation === null ? '' : rowText(formatConversation(conversation))),
  },
  { title: 'label', shrinksTo: 8, value: ({ label }) => rowText(label) },
];

/** The checkpoints must be sanitized. */
export const checkpointsLines = (
  checkpoints: readonly Checkpoint[],
  agent: string | null,
  { paint, columns }: Screen,
): readonly string[] => {
  if (checkpoints.length === 0)
    return [
      `No checkpoints${agent === null ? '' : ` of ${sanitizeLine(agent)}`} yet.`,
      'Create one with `cloister checkpoints create last`.',
    ];
  const rows = checkpoints.map((one) => checkpointColumns.map((column) => column.value(one)));
  const kept = fittingColumns(checkpointColumns, rows, columns);
  const [heading = '', ...lines] = tableLines(
    kept.map((index) => checkpointColumns[index]!),
    rows.map((row) => kept.map((index) => row[index] ?? '')),
    columns,
  );
  return [paint('dim', heading), ...lines];
};

export const isIdentical = ({ cells, files, tokens, crossings }: CheckpointDiff): boolean =>
  [cells, files].every((sides) => sides.added.length + sides.removed.length + sides.changed.length === 0) &&
  [tokens, crossings].every(([one, other]) => one === other);

/** The diff must be sanitized. */
export const checkpointDiffLines = (diff: CheckpointDiff, screen: Screen): readonly string[] => {
  const { paint, columns } = screen;
  const { one, other, cells, files, tokens, crossings } = diff;
  return [
    paint('red', truncateColumns(`− ${describeCheckpoint(one)}`, columns)),
    paint('green', truncateColumns(`+ ${describeCheckpoint(other)}`, columns)),
    ...(isIdentical(diff) ? [paint('green', 'identical')] : []),
    ...pairLine('tokens', tokens),
    ...pairLine('crossings', crossings),
    ...namesLines('cell', cells, screen),
    ...cells.changed.flatMap((cell) => changedLines(cell, screen)),
    ...namesLines('file', files, screen),
    ...files.changed.flatMap((file) => wrapText('≠ file ', file, columns)),
  ];
};

const describeCheckpoint = ({ id, agent, run, frames, at }: Checkpoint): string =>
  `${id}  ${dateTime(at)}, ${rowText(agent)}, run ${run}, ${plural(frames, 'record')}`;

const pairLine = (title: string, [one, other]: readonly [number, number]): readonly string[] =>
  one === other ? [] : [`${title} ${count(one)} → ${count(other)}`];

const namesLines = (
  what: string,
  { added, removed }: { readonly added: readonly string[]; readonly removed: readonly string[] },
  { paint, columns }: Screen,
): readonly string[] => [
  ...removed.flatMap((name) => wrapText(`− ${what} `, name, columns)).map((line) => paint('red', line)),
  ...added.flatMap((name) => wrapText(`+ ${what} `, name, columns)).map((line) => paint('green', line)),
];

const changedLines = (
  { cell, agent, windowBytes, steps, status }: CheckpointDiff['cells']['changed'][number],
  { paint, columns }: Screen,
): readonly string[] => {
  const words = [
    ...pairLine('window bytes', windowBytes),
    ...pairLine('steps', steps),
    ...(status[0] === status[1] ? [] : [`status ${status[0]} → ${status[1]}`]),
  ];
  const named = cell.startsWith(agent) ? cell : `${cell} ${agent}`;
  return [
    paint('bold', truncateColumns(`≠ cell ${sanitizeLine(named)}`, columns)),
    ...words.flatMap((one) => wrapText('    ', one, columns)),
  ];
};
