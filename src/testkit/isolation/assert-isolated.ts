// A difference as a failed assertion, in words that say where to look.
import { AssertionError } from 'node:assert';
import type { VerifyDifference } from '#contracts';
import type { IsolationReport } from './check-isolation.ts';

/** Throws unless every pair showed the same. */
export const assertIsolated = (report: IsolationReport): IsolationReport => {
  const [difference] = report.differences;
  if (difference !== undefined)
    throw new AssertionError({
      message: differenceText(difference),
      actual: difference.other,
      expected: difference.one,
      operator: 'expectIsolated',
    });
  if (!report.ok)
    throw new AssertionError({
      message: ['Nothing could be compared, so nothing was shown.', ...report.notes].join('\n  '),
      operator: 'expectIsolated',
    });
  return report;
};

const differenceText = ({ sink, offset, one, other, varied, shortest, again }: VerifyDifference): string =>
  [
    `What ${varied} keeps to itself reaches another cell.`,
    `  seen by:   ${sink}, at character ${offset}`,
    `  one run:   …${JSON.stringify(one)}`,
    `  the other: …${JSON.stringify(other)}`,
    `  shortest:  ${shortest}`,
    `  again:     ${again}`,
  ].join('\n');
