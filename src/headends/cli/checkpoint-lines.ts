// Checkpoints for people: a list of them, and what is not the same in two.
import type { Checkpoint, CheckpointDiff } from '#contracts';
import { conversationWords } from './conversation-name.ts';
import { count, dateTime, plural } from './format-numbers.ts';
import type { Page } from './output.ts';
import { fittingColumns, tableLines } from './table.ts';
import type { Column } from './table.ts';
import { truncateColumns, sanitizeLine } from './sanitize-text.ts';
import { rowText } from './tree.ts';
import { wrapText } from './wrap-text.ts';

type Screen = Pick<Page, 'paint' | 'columns'>;
type CheckpointColumn = Column & { value(one: Checkpoint): string };

const checkpointColumns: readonly CheckpointColumn[] = [
  { title: 'checkpoint', value: ({ id }) => id },
  { title: 'agent', shrinksTo: 8, value: ({ agent }) => rowText(agent) },
  { title: 'taken', value: ({ at }) => dateTime(at) },
  { title: 'why', goes: 3, value: ({ why }) => why },
  { title: 'run', goes: 2, value: ({ run }) => run },
  { title: 'records', align: 'right', goes: 1, value: ({ frames }) => count(frames) },
  {
    title: 'conversation',
    shrinksTo: 8,
    goes: 4,
    value: ({ conversation }) => (conversation === null ? '' : rowText(conversationWords(conversation))),
  },
  { title: 'label', shrinksTo: 8, value: ({ label }) => rowText(label) },
];

/** They must be harmless. */
export const checkpointsLines = (
  checkpoints: readonly Checkpoint[],
  agent: string | null,
  { paint, columns }: Screen,
): readonly string[] => {
  if (checkpoints.length === 0)
    return [
      `There are no checkpoints${agent === null ? '' : ` of ${sanitizeLine(agent)}`} yet.`,
      'Keep a place in a run with `cloister checkpoints create last`.',
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

export const isSame = ({ cells, files, tokens, crossings }: CheckpointDiff): boolean =>
  [cells, files].every((sides) => sides.added.length + sides.removed.length + sides.changed.length === 0) &&
  [tokens, crossings].every(([one, other]) => one === other);

/** It must be harmless. */
export const checkpointDiffLines = (diff: CheckpointDiff, screen: Screen): readonly string[] => {
  const { paint, columns } = screen;
  const { one, other, cells, files, tokens, crossings } = diff;
  return [
    paint('red', truncateColumns(`− ${sideWords(one)}`, columns)),
    paint('green', truncateColumns(`+ ${sideWords(other)}`, columns)),
    ...(isSame(diff) ? [paint('green', 'the same')] : []),
    ...pairLine('tokens', tokens),
    ...pairLine('crossings', crossings),
    ...namesLines('cell', cells, screen),
    ...cells.changed.flatMap((cell) => changedLines(cell, screen)),
    ...namesLines('file', files, screen),
    ...files.changed.flatMap((file) => wrapText('≠ file ', file, columns)),
  ];
};

const sideWords = ({ id, agent, run, frames, at }: Checkpoint): string =>
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
