// Audits a whole run from its log alone: everything that was recorded, crossed, shown and spent.
//
//   audit-never-throws. Whatever the log contains: an unreadable frame is reported like any other problem.
//   audit-of-living-cells. Frames are read one by one, and what is over is released (`release.ts`).
import { readRecordedBy } from '#base';
import type { CellId, RunId } from '#base';
import type { AuditProblem, AuditReport, Frame, FrameSource } from '#contracts';
import { problemLocation, startProblems } from './problems.ts';
import type { Check } from './problems.ts';
import { readFrame, startRecords } from './records.ts';
import type { RunRecords } from './records.ts';
import { RecordReleaser } from './release.ts';
import { AccountsCheck } from './verify-accounts.ts';
import { verifyHolds } from './verify-holds.ts';
import { verifyCrossings } from './verify-crossings.ts';
import { OutputsCheck, verifyAttachments, verifyFiles } from './verify-files.ts';
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
  /** Descriptions of records that the store itself could not read: all of them, once the frames have been read. */
  readonly damaged: readonly string[];
  /** Awaited before each frame, so that other work can be done in between; undefined: no need. */
  readonly pause?: () => Promise<void> | undefined;
};

/** `frames`: one run in log order. They may be read a second time. */
export const auditRun = async (frames: FrameSource, sources: AuditSources): Promise<AuditReport> =>
  (await new Audit(sources, true).run(frames)) ?? (await new Audit(sources, false).run(frames))!;

/** The same, with everything in memory. */
export const auditInMemory = async (frames: FrameSource, sources: AuditSources): Promise<AuditReport> =>
  (await new Audit(sources, false).run(frames))!;

class Audit {
  readonly #sources: AuditSources;
  readonly #problems = startProblems();
  readonly #records: RunRecords;
  readonly #releaser: RecordReleaser | undefined;
  readonly #crossings: ReturnType<typeof verifyCrossings>;
  readonly #prompts: ReturnType<typeof verifyPrompts>;
  readonly #accounts: AccountsCheck;
  readonly #outputs: OutputsCheck;
  readonly #checks: readonly Check[];

  constructor(sources: AuditSources, releases: boolean) {
    this.#sources = sources;
    this.#records = startRecords(releases);
    const [records, problems] = [this.#records, this.#problems];
    const release = (cell: CellId): void => {
      for (const check of this.#checks) check.release?.(cell);
    };
    this.#releaser = releases ? new RecordReleaser(records, release) : undefined;
    this.#crossings = verifyCrossings(records, problems);
    this.#prompts = verifyPrompts(records, problems, (cell, change) => this.#releaser?.noteView(cell, change));
    this.#accounts = new AccountsCheck(records, problems);
    this.#outputs = new OutputsCheck(records, sources.readBlob);
    this.#checks = [
      { next: verifyLog(records, problems) },
      { next: (frame) => readFrame(records, frame) },
      { next: verifyLedger(records, problems) },
      this.#crossings,
      this.#prompts,
      { next: verifyShares(records, this.#prompts.of, problems) },
      verifyMail(records, problems),
      verifyWork(records, problems),
      verifyTasks(records, problems),
      verifyHolds(records, this.#prompts.of, problems),
      this.#accounts,
      { next: verifyOutcomes(records, problems) },
      { next: verifyTimes(records, problems) },
      { next: verifyLimits(records, problems) },
      new QuestionsCheck(records, problems),
      { next: verifySpawned(records, problems) },
    ];
  }

  /** Null if a check needed what had been released. */
  async run(frames: FrameSource): Promise<AuditReport | null> {
    const { damaged, pause } = this.#sources;
    let first: Frame | undefined;
    for await (const frame of frames) {
      const paused = pause?.();
      if (paused !== undefined) await paused;
      first ??= frame;
      this.#check(frame);
      const reading = this.#checkOutput(frame);
      if (reading !== undefined) await reading;
      if (this.#records.needsRestart) return null;
    }
    await this.#finish(first);
    const [records, prompts] = [this.#records, this.#prompts.count];
    const message = 'the record was changed after it was written';
    const damages = damaged.map((where): AuditProblem => ({ code: 'record-damaged', where, message }));
    const problems = [...damages, ...this.#problems.list];
    return {
      run: first?.run ?? ('' as RunId),
      recordedBy: readRecordedBy(first?.record ?? null),
      ok: problems.length === 0 && prompts.unattributedBytes === 0,
      ...this.#crossings.count,
      ...prompts,
      cells: records.cells.size,
      problems,
    };
  }

  #check(frame: Frame): void {
    this.#try(frame, () => this.#releaser?.checkNotReleased(frame));
    for (const check of this.#checks) this.#try(frame, () => check.next(frame));
    try {
      this.#releaser?.next(frame);
    } catch {
      // The frame is not what it should be, so it does not say what is needed later.
      this.#records.needsRestart = true;
    }
  }

  /** Undefined if the frame stores no output. */
  #checkOutput(frame: Frame): Promise<void> | undefined {
    const fail = (error: unknown): void => this.#addUnreadable(frame, error);
    try {
      return this.#outputs.next(frame)?.catch(fail);
    } catch (error) {
      fail(error);
      return undefined;
    }
  }

  #try(frame: Frame, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#addUnreadable(frame, error);
    }
  }

  #addUnreadable(frame: Frame, error: unknown): void {
    const message = error instanceof Error ? error.message : 'it cannot be read';
    this.#problems.add('frame-unreadable', problemLocation(frame), message);
  }

  async #finish(first: Frame | undefined): Promise<void> {
    const problems = this.#problems;
    this.#crossings.finish();
    this.#accounts.finish();
    this.#outputs.finish(problems);
    await verifyFiles(first, this.#sources, problems);
    await verifyAttachments(first, this.#sources.readBlob, problems);
    if (first === undefined) problems.add('run-start', 'frame 0', 'the log has no frames');
  }
}
