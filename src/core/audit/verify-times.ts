// Checks that no cell says that it has worked longer than from its start to its end. How long exactly it worked is only in its outcome: it
// is the time at which its session ended, and operations that were stopped then may have settled later.
import type { Frame } from '#contracts';
import { problemLocation } from './problems.ts';
import type { AuditProblems } from './problems.ts';
import { endedCell } from './records.ts';
import type { RunRecords } from './records.ts';

/** Runs after the frame is read. */
export const verifyTimes =
  ({ cells }: RunRecords, problems: AuditProblems) =>
  (frame: Frame): void => {
    const ended = endedCell(frame);
    const cell = ended && cells.get(ended.cell);
    if (ended === undefined || cell === undefined) return;
    const { ms } = ended.outcome.spent;
    if (ms >= 0 && ms <= frame.at - cell.startedAt) return;
    problems.add(
      'outcome-spent',
      problemLocation(frame, ended.cell),
      'it says that it worked for longer than it lasted',
    );
  };
