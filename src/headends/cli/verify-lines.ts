// Formats what `verify` found.
import type { VerifyDifference } from '#contracts';
import type { VerifyResult } from './shared/cli-world.ts';
import { count, plural } from './shared/format-numbers.ts';
import { markDifference } from './shared/mark-difference.ts';
import type { Printer } from './shared/output.ts';
import { sanitizeLine, wrapText } from './shared/sanitize-text.ts';

type Screen = Pick<Printer, 'paint' | 'columns'>;

const differencesMax = 10;

/** `asked`: the number of pairs requested. */
export const verifyLines = (
  report: VerifyResult,
  { pairs: asked, verbose }: { readonly pairs: number; readonly verbose: boolean },
  screen: Screen,
): readonly string[] => {
  const { ok, agent, pairs, sights, bytes, seed, differences, notes = [] } = report;
  const { paint, columns } = screen;
  const shown = verbose ? differences : differences.slice(0, differencesMax);
  const more = differences.length - shown.length;
  const verdict = ok ? paint('green', 'ok') : paint('red', plural(Math.max(1, differences.length), 'difference'));
  const tried = pairs < asked ? `${count(pairs)} of ${plural(asked, 'pair')}, then stopped` : plural(pairs, 'pair');
  return [
    `${paint('bold', `Verify ${sanitizeLine(agent)}:`)} ${pairs === 0 ? 'no pairs were run' : verdict}`,
    ...wrapText(
      '',
      `${tried} · ${plural(sights, 'observation')} compared, ${plural(bytes, 'byte')} · seed ${seed}`,
      columns,
      0,
    ),
    ...notes.flatMap((note) => wrapText('note: ', note, columns)),
    ...shown.flatMap((difference, index) => ['', ...differenceLines(difference, index + 1, screen)]),
    ...(more === 0 ? [] : ['', `… and ${plural(more, 'more difference')}: use --verbose for all`]),
  ];
};

/** What one cell saw, and what was changed in another. The command is uncut on its own line, so that it can be pasted. */
const differenceLines = (difference: VerifyDifference, nth: number, screen: Screen): readonly string[] => {
  const { paint, columns } = screen;
  const { sink, offset, one, other, varied, shortest, again } = difference;
  const [left, right] = markDifference(one, other, { columns: columns - 5, paint });
  return [
    ...wrapText(`${nth}. `, `${sink}, at offset ${count(offset)}`, columns, 3).map((line) => paint('bold', line)),
    `   ${paint('red', '−')} ${left}`,
    `   ${paint('green', '+')} ${right}`,
    ...wrapText('   changed:  ', varied, columns, 13),
    ...wrapText('   shortest: ', shortest, columns, 13),
    '   reproduce with:',
    `     ${sanitizeLine(again)}`,
  ];
};
