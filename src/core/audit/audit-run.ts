// Audits a whole run from its log alone: everything that was recorded, crossed, shown and spent.
//
//   audit-never-throws. Whatever the log contains: an unreadable frame is reported like any other problem.
import { readRecordedBy } from '#base';
import type { RunId } from '#base';
import type { AuditReport, Frame } from '#contracts';
import { problemLocation, startProblems } from './problems.ts';
import { readFrame, startRecords } from './records.ts';
import { AccountsCheck } from './verify-accounts.ts';
import { verifyHolds } from './verify-holds.ts';
import { verifyCrossings } from './verify-crossings.ts';
import { verifyAttachments, verifyFiles, verifyOutputs } from './verify-files.ts';
import type { FileSources } from './verify-files.ts';
import { verifyLedger } from './verify-ledger.ts';
import { verifyLimits } from './verify-limits.ts';
import { verifyLog } from './verify-log.ts';
import { verifyMail } from './verify-mail.ts';
import { verifyOutcomes, verifySpawned } from './verify-outcomes.ts';
import { verifyPrompts } from './verify-prompts.ts';
import { QuestionsCheck } from './verify-questions.ts';
import { verifyShares } from './verify-shares.ts';
import { verifyTimes } from './verify-times.ts';
import { verifyTasks } from './verify-tasks.ts';
import { verifyWork } from './verify-work.ts';

type AuditSources = FileSources & {
  /** Descriptions of records that the store itself could not read. */
  readonly damaged: readonly string[];
  /** Awaited before each frame, so that other work can be done in between; undefined: no need. */
  readonly pause?: () => Promise<void> | undefined;
};

/** `frames`: one run in log order. */
export const auditRun = async (
  frames: readonly Frame[],
  { damaged, pause, ...sources }: AuditSources,
): Promise<AuditReport> => {
  const problems = startProblems();
  for (const description of damaged)
    problems.add('record-damaged', description, 'the record was changed after it was written');

  const records = startRecords();
  const crossings = verifyCrossings(records, problems);
  const prompts = verifyPrompts(records, problems);
  const accounts = new AccountsCheck(records, problems);
  const questions = new QuestionsCheck(records, problems);
  const checks: readonly ((frame: Frame) => void)[] = [
    verifyLog(records, problems),
    (frame) => readFrame(records, frame),
    verifyLedger(records, problems),
    crossings.next,
    prompts.next,
    verifyShares(records, prompts.of, problems),
    verifyMail(records, problems),
    verifyWork(records, problems),
    verifyTasks(records, problems),
    verifyHolds(records, prompts.of, problems),
    (frame) => accounts.next(frame),
    verifyOutcomes(records, problems),
    verifyTimes(records, problems),
    verifyLimits(records, problems),
    (frame) => questions.next(frame),
    verifySpawned(records, problems),
  ];
  for (const frame of frames) {
    const paused = pause?.();
    if (paused !== undefined) await paused;
    for (const check of checks)
      try {
        check(frame);
      } catch (error) {
        problems.add(
          'frame-unreadable',
          problemLocation(frame),
          error instanceof Error ? error.message : 'it cannot be read',
        );
      }
  }
  crossings.finish();
  accounts.finish();
  await verifyOutputs(records, sources.readBlob, problems);
  await verifyFiles(frames, sources, problems);
  await verifyAttachments(frames, sources.readBlob, problems);
  if (frames.length === 0) problems.add('run-start', 'frame 0', 'the log has no frames');

  return {
    run: frames[0]?.run ?? ('' as RunId),
    recordedBy: readRecordedBy(frames[0]?.record ?? null),
    ok: problems.list.length === 0 && prompts.count.unattributedBytes === 0,
    ...crossings.count,
    ...prompts.count,
    cells: records.cells.size,
    problems: problems.list,
  };
};
