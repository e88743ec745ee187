// `diff`: compares two runs, cell by cell. `−` is the first run, `+` the other.
import type { CellDiff, CellSide, RunDiff } from '#contracts';
import { budgetText, count, plural } from '#headends/run-view';
import { defineCommand } from './shared/define-command.ts';
import { describeAmendment, describeCost } from './shared/format.ts';
import { exitCode } from './shared/errors.ts';
import { markDifference } from './shared/mark-difference.ts';
import { openToRead, resolveRun } from './shared/find-and-open.ts';
import { requiredArgument, runArgument, workspaceOption } from './shared/options.ts';
import type { Screen } from './shared/output.ts';
import { truncateColumns, sanitizeLine, wrapText } from './shared/sanitize-text.ts';

/** Exits like diff(1): 0 if they are identical, 1 if they differ. */
export default defineCommand({
  about: 'compare two runs cell by cell; exit 1 if they differ',
  examples: ['cloister diff 4f2a last'],
  arguments: { ...runArgument, other: requiredArgument('the other run, such as a fork of the first') },
  options: workspaceOption,
  run: async ({ run, other, workspace, json, verbose }, { runtime, output }) => {
    await using cloister = await openToRead(workspace, runtime);
    const one = await resolveRun(cloister, run);
    const diff = await cloister.diff(one, await resolveRun(cloister, other));
    output.result(json, diff, (printer) => diffLines(diff, verbose, printer));
    return diff.same ? exitCode.completed : exitCode.config;
  },
});

const cellsMax = 50;

/** Sanitizes here, not before: the positions where texts differ refer to the original texts. */
const diffLines = (diff: RunDiff, verbose: boolean, screen: Screen): readonly string[] => {
  const { cells } = diff;
  const shown = verbose ? cells : cells.slice(0, cellsMax);
  const more = cells.length - shown.length;
  return [
    ...headLines(diff, screen),
    '',
    ...shown.flatMap((cell) => cellLines(cell, screen)),
    ...(more === 0 ? [] : [`… and ${plural(more, 'more cell')}: use --verbose for all`]),
  ];
};

const headLines = (diff: RunDiff, screen: Screen): readonly string[] => {
  const { paint, columns } = screen;
  const { one, other, fork, sameFrames, same, cells } = diff;
  const differ = cells.filter((cell) => !cell.same).length;
  const verdict = same
    ? paint('green', 'no differences')
    : paint('yellow', `${count(differ)} of ${plural(cells.length, 'cell')} differ`);
  return [
    paint('red', `− run ${sanitizeLine(one)}`),
    paint('green', `+ run ${sanitizeLine(other)}`),
    ...(fork === null
      ? []
      : [
          ...wrapText('  ', `${fork.run} is a fork of ${fork.from.run} at ${fork.from.at}:`, columns, 2),
          ...wrapText('  ', forkChanges(fork), columns, 2),
        ]),
    `${verdict} · ${plural(sameFrames, 'record')} identical from the start`,
  ];
};

const forkChanges = ({ amendment, budget }: NonNullable<RunDiff['fork']>): string =>
  [describeAmendment(amendment), ...(budget === undefined ? [] : [`budget: ${budgetText(budget) || 'none'}`])].join(
    '; ',
  );

const cellLines = (cell: CellDiff, screen: Screen): readonly string[] => {
  const { paint, columns } = screen;
  const place = sanitizeLine(cell.place);
  const { one, other } = cell;
  if (one === null || other === null) {
    const [sign, style, side] = one === null ? (['+', 'green', other] as const) : (['−', 'red', one] as const);
    return [
      paint(style, truncateColumns(`${sign} ${place}`, columns)),
      ...(side === null ? [] : wrapText('    ', `only in this run: ${describeSide(side)}`, columns)),
    ];
  }
  if (cell.same) return [truncateColumns(`= ${place}  ${one.status ?? 'unfinished'}`, columns)];
  const lines = [...partingLines(cell, screen), ...sidesLines([one, other], screen)];
  return [paint('bold', truncateColumns(`≠ ${place}`, columns)), ...(lines.length === 0 ? [hashesOnly] : lines)];
};

/** The report has only their hashes. */
const hashesOnly = '    definition or crossings differ';

const partingLines = ({ parts }: CellDiff, screen: Screen): readonly string[] =>
  parts === null ? [] : [`    differs from operation ${parts.op} on`, ...bothLines(parts.one, parts.other, screen)];

/** The fields in which the two sides differ. */
const sidesLines = ([one, other]: readonly [CellSide, CellSide], screen: Screen): readonly string[] => {
  const { columns } = screen;
  const short = (title: string, of: (side: CellSide) => string): readonly string[] => {
    const [left, right] = [sanitizeLine(of(one)), sanitizeLine(of(other))];
    return left === right ? [] : wrapText(`    ${title.padEnd(10)}`, `${left} → ${right}`, columns, 14);
  };
  return [
    ...short('status', ({ status }) => status ?? 'unfinished'),
    ...(one.output === other.output ? [] : ['    output', ...outputLines(one.output, other.output, screen)]),
    ...short('models', ({ models }) => models.join(', ') || 'none'),
    ...short('spent', describeSpent),
    ...crossingLines(one.crossings, other.crossings, screen),
  ];
};

const indent = '      ';

const bothLines = (one: string, other: string, { paint, columns }: Screen): readonly string[] => [
  ...wrapText(`${indent}− `, one, columns, 8).map((line) => paint('red', line)),
  ...wrapText(`${indent}+ `, other, columns, 8).map((line) => paint('green', line)),
];

const outputLines = (one: string, other: string, { paint, columns }: Screen): readonly string[] => {
  const [left, right] = markDifference(one, other, { columns: columns - indent.length - 2, paint });
  return [`${indent}${paint('red', '−')} ${left}`, `${indent}${paint('green', '+')} ${right}`];
};

/** Crossings that only one side has. Duplicates count: if one side has two more of a kind, two are listed. */
const crossingLines = (one: readonly string[], other: readonly string[], screen: Screen): readonly string[] => {
  const [left, right] = [without(one, other), without(other, one)];
  if (left.length + right.length === 0) return [];
  const { paint, columns } = screen;
  return [
    '    crossings',
    ...left.flatMap((words) => wrapText(`${indent}− `, words, columns, 8).map((line) => paint('red', line))),
    ...right.flatMap((words) => wrapText(`${indent}+ `, words, columns, 8).map((line) => paint('green', line))),
  ];
};

const without = (all: readonly string[], taken: readonly string[]): readonly string[] => {
  const left = [...taken];
  return all.filter((words) => {
    const at = left.indexOf(words);
    if (at !== -1) left.splice(at, 1);
    return at === -1;
  });
};

const describeSide = (side: CellSide): string =>
  `${side.status ?? 'unfinished'}, ${describeSpent(side)}${side.crossings.length === 0 ? '' : `; ${side.crossings.join(', ')}`}`;

const describeSpent = ({ spent }: CellSide): string =>
  `${count(spent.inputTokens)} in, ${count(spent.outputTokens)} out, ${describeCost(spent.usd)}`;
