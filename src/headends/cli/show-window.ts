// Formats what fills each context window, as a bar, and what was dropped.
import type { Category, CellWindow, WindowChange } from '#contracts';
import { clockTime, compactNumber, count, plural } from '#headends/run-view';
import { describeClamp, windowLimitReasons, describeTrim } from './shared/format.ts';
import type { Screen, Style } from './shared/output.ts';
import { truncateColumns, excerpt, wrapText } from './shared/sanitize-text.ts';
import { cellsInTreeOrder, rowText } from './shared/tree.ts';

/** The windows must be sanitized. */
export const windowLines = (windows: readonly CellWindow[], verbose: boolean, screen: Screen): readonly string[] => {
  const cells = cellsInTreeOrder(windows).map(({ node }) => node);
  const shown = verbose ? cells : cells.slice(0, cellsMax);
  const more = cells.length - shown.length;
  return [
    ...shown.flatMap((cell, index) => [...(index === 0 ? [] : ['']), ...cellLines(cell, verbose, screen)]),
    ...(more === 0 ? [] : ['', `… and ${plural(more, 'more cell')}: use --verbose for all`]),
  ];
};

const cellsMax = 60;
const changesMax = 12;

const cellLines = (cell: CellWindow, verbose: boolean, screen: Screen): readonly string[] => {
  const { paint, columns } = screen;
  const { happened } = cell;
  const shown = verbose ? happened : happened.slice(-changesMax);
  const more = happened.length - shown.length;
  const name = cell.cell.startsWith(cell.agent) ? cell.cell : `${cell.cell} ${rowText(cell.agent)}`;
  if (cell.model === null) return [paint('bold', truncateColumns(name, columns)), '  has not called a model yet'];
  return [
    paint('bold', truncateColumns(name, columns)),
    ...wrapText('  ', `${excerpt(cell.model, 60)}: ${describeRoom(cell)}`, columns, 2),
    `  ${barOf(cell, { paint, columns: columns - 2 })}`,
    ...wrapText(
      '  ',
      `${parts.map(([category]) => describeCategory(cell, category)).join(', ')} (tokens/segments)`,
      columns,
      2,
    ),
    ...(more === 0 ? [] : [`  … ${plural(more, 'earlier change')}: use --verbose for all`]),
    ...shown.flatMap((change) => wrapText('  ', describeChange(change), columns)),
  ];
};

const describeRoom = ({ limit, total }: CellWindow): string => {
  const held = `about ${count(total.tokens)}`;
  return limit === null
    ? `${held} tokens`
    : `${held} of ${plural(limit.tokens, 'token')}, ${windowLimitReasons[limit.by]}`;
};

const parts: readonly (readonly [category: Category, letter: string, style: Style])[] = [
  ['SYSTEM', 'S', 'cyan'],
  ['CONTEXT', 'C', 'green'],
  ['DIALOG', 'D', 'yellow'],
  ['TOOLS', 'T', 'red'],
];

const describeCategory = ({ categories }: CellWindow, category: Category): string => {
  const { messages, tokens } = categories[category];
  return `${category} ${compactNumber(tokens)}${messages === 0 ? '' : `/${count(messages)}`}`;
};

/** Letters in proportion to the tokens of each category, at least one if it has messages; dots for free space. */
const barOf = ({ categories, total, limit }: CellWindow, { paint, columns }: Screen): string => {
  const room = Math.max(total.tokens, limit?.tokens ?? 0, 1);
  const width = Math.max(parts.length, columns - 2);
  const lengths = parts.map(([category]) => {
    const { messages, tokens } = categories[category];
    return messages === 0 ? 0 : Math.max(1, Math.floor((tokens / room) * width));
  });
  // Minimum letters can exceed the width; take the excess from the longest category.
  const excess = Math.max(0, lengths.reduce((sum, one) => sum + one, 0) - width);
  const longest = lengths.indexOf(Math.max(...lengths));
  lengths[longest] = (lengths[longest] ?? 0) - excess;
  const free = width - lengths.reduce((sum, one) => sum + one, 0);
  const letters = parts.map(([, message, style], index) => {
    const text = message.repeat(lengths[index] ?? 0);
    return text === '' ? '' : paint(style, text);
  });
  return `[${letters.join('')}${free === 0 ? '' : paint('dim', '.'.repeat(free))}]`;
};

const describeChange = (change: WindowChange): string => {
  const when = `${clockTime(change.at)} turn ${change.turn}, operation ${change.op}`;
  switch (change.what) {
    case 'clamped':
      return `${when}: ${describeClamp(change)}`;
    case 'offloaded':
      return `${when}: output of ${change.tool} offloaded to ${change.output}, ${compactNumber(change.bytes)} bytes`;
    case 'compacted':
    case 'shortened':
    case 'dropped':
      return `${when}: ${describeTrim(change)}`;
  }
};
