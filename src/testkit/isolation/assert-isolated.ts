// Reports a difference as a failed assertion that says where to look.
import { AssertionError } from 'node:assert';
import type { VerifyDifference } from '#contracts';
import type { IsolationReport } from './check-isolation.ts';

/** Throws unless pairs were compared and none differed. */
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
      message: ['No pair could be compared, so nothing was verified.', ...report.notes].join('\n  '),
      operator: 'expectIsolated',
    });
  return report;
};

const differenceText = ({ sink, offset, one, other, varied, shortest, again }: VerifyDifference): string =>
  [
    `Private content of ${varied} reaches another cell.`,
    `  seen by:   ${sink}, at character ${offset}`,
    `  one run:   …${JSON.stringify(one)}`,
    `  the other: …${JSON.stringify(other)}`,
    `  shortest:  ${shortest}`,
    `  reproduce: ${again}`,
  ].join('\n');
