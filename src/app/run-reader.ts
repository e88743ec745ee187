// Read-only access to runs: everything derived from their logs.
import { CloisterError, fromRecords, omitUndefined } from '#base';
import type { CellId, RunId } from '#base';
import { checkOptions, oneOf, parseRunId } from '#base/shapes';
import { attachmentsIn, seesShape } from '#contracts';
import type {
  CellFolders,
  CellLedger,
  CellWindow,
  Frame,
  FrameSource,
  RunArchive,
  DeadLetters,
  MailReport,
  ProtocolEvent,
  RunDiff,
  RunSummary,
  SharedState,
  Store,
  TaskReport,
  Transcript,
  TranscriptOptions,
  RebuildOptions,
  RebuildReport,
} from '#contracts';
import { auditRun, diffRuns, explainCell } from '#core/audit';
import { collectMail, followMessageStates, readLedgers, protocolEvents, reportRun, windowReport } from '#core/events';
import { collectTasks } from '#core/tasks';
import { openStorageAudit } from './audit-storage.ts';
import { framesOf, readableFrames } from './log-frames.ts';
import { quoteAll, readTranscript, transcriptFields } from './read-transcript.ts';

/** For work on one log: returns a function that says whether it is time for a pause, and makes it. */
export type OpenPauses = () => () => Promise<void> | undefined;

type RunsOptions = NonNullable<Parameters<RunArchive['runs']>[0]>;

export class RunReader {
  protected readonly store: Store;
  readonly #folders: CellFolders;
  readonly #openPauses: OpenPauses | undefined;

  constructor(store: Store, folders: CellFolders, openPauses?: OpenPauses) {
    this.store = store;
    this.#folders = folders;
    this.#openPauses = openPauses;
  }

  get workspace(): string | null {
    return this.store.path;
  }

  get shared(): SharedState {
    return this.store;
  }

  /** With the state of those that wait for people. */
  protected async withWaiting(runs: readonly RunSummary[]): Promise<readonly RunSummary[]> {
    return runs;
  }

  /** Resolves when what has happened in a run so far can be read. */
  protected async durable(_run: RunId): Promise<void> {}

  /** What has happened in a run so far. */
  async #frames(run: string): Promise<readonly Frame[]> {
    const id = parseRunId(run);
    await this.durable(id);
    return this.store.read(id);
  }

  /** The same, page by page. */
  async #pagedFrames(run: string): Promise<FrameSource> {
    const id = parseRunId(run);
    await this.durable(id);
    return framesOf(this.store, id);
  }

  /** What follows from the log of a run. */
  async #fold<T>(run: string, fold: (frames: readonly Frame[]) => T | Promise<T>): Promise<T> {
    const frames = await this.#frames(run);
    return fromRecords(run, () => fold(frames));
  }

  async mail(run: string): Promise<readonly MailReport[]> {
    const mail = collectMail();
    await this.#eachFrame(run, (frame) => mail.next(frame));
    return mail.all();
  }

  /** Page by page and with pauses, so that a long log is never in memory as a whole, and does not keep the event loop to itself. */
  async #eachFrame(run: string, follow: (frame: Frame) => void): Promise<void> {
    const frames = await this.#pagedFrames(run);
    await fromRecords(run, () => eachFrame(frames, follow, this.#openPauses?.()));
  }

  deadLetters(options: Parameters<RunArchive['deadLetters']>[0] = {}): Promise<DeadLetters> {
    return deadLetters(this.store, options, this.#openPauses);
  }

  async attachment(run: string, sha256: string): Promise<Uint8Array> {
    for await (const { contents } of await this.#pagedFrames(run)) {
      if (attachmentsIn(contents).some((one) => 'sha256' in one && one.sha256 === sha256))
        return this.store.getBlob(sha256);
      // Files come with the request, so they are in the first frame.
      break;
    }
    throw new CloisterError('file_missing', `Run ${run} has no file with that hash.`);
  }

  async tasks(run: string): Promise<readonly TaskReport[]> {
    const tasks = collectTasks();
    await this.#eachFrame(run, (frame) => tasks.next(frame));
    return tasks.of();
  }

  async protocol(run: string): Promise<readonly ProtocolEvent[]> {
    const fold = protocolEvents();
    const events: ProtocolEvent[] = [];
    await this.#eachFrame(run, (frame) => void events.push(...fold.next(frame)));
    return events;
  }

  async diff(one: string, other: string): Promise<RunDiff> {
    const right = await this.#frames(other);
    return this.#fold(one, (left) => diffRuns(left, right, this.#openPauses?.()));
  }

  async runs(options: Parameters<RunArchive['runs']>[0] = {}): Promise<readonly RunSummary[]> {
    const found = await this.#listRuns(options);
    return options.waiting === true ? this.withWaiting(found) : found;
  }

  async #listRuns({ run, runs = run === undefined ? undefined : [run], ...asked }: RunsOptions) {
    const { caller, since = 0, prefix, open, before, most } = asked;
    const only = open === true || undefined;
    if (runs === undefined)
      return this.store.list({
        ...omitUndefined({ caller, since: asked.since, prefix, open: only, most }),
        ...(before === undefined ? {} : { before: parseRunId(before) }),
      });
    const found = await this.store.list({ runs: runs.map((one) => parseRunId(one)) });
    const isAsked = (one: RunSummary): boolean =>
      (caller === undefined || one.caller === caller) &&
      one.startedAt >= since &&
      (only === undefined || one.endedAt === null);
    return found.filter(isAsked).slice(0, most);
  }

  async show(run: string, options: Parameters<RunArchive['show']>[1] = {}) {
    checkOptions(options, { sees: seesShape, details: 'flag', answer: 'text', events: oneOf('all', 'refusals') });
    const frames = await this.#pagedFrames(run);
    const [found] = await this.store.list({ runs: [parseRunId(run)] });
    const { sees, details = false, answer, events } = options;
    const pause = this.#openPauses?.();
    return fromRecords(run, async () => {
      const report = await reportRun(frames, found?.state ?? 'interrupted', { sees, details, events, answer, pause });
      return details ? { ...report, events: await quoteAll(report.events, this.store) } : report;
    });
  }

  async resumeTimes(run: string): Promise<readonly number[]> {
    const times: number[] = [];
    for await (const { record, at } of framesOf(this.store, parseRunId(run)))
      if (record.type === 'resume') times.push(at);
    return times;
  }

  async transcript(run: string, options: TranscriptOptions = {}): Promise<Transcript> {
    checkOptions(options, transcriptFields);
    const { store } = this;
    const frames = await this.#pagedFrames(run);
    const pause = this.#openPauses?.();
    return fromRecords(run, () => readTranscript(parseRunId(run), frames, { store, pause }, options));
  }

  async explain(run: string, cell: string, { find }: { find?: string } = {}) {
    const frames = await this.#pagedFrames(run);
    return fromRecords(run, () => explainCell(frames, cell as CellId, { find, pause: this.#openPauses?.() }));
  }

  async windows(run: string): Promise<readonly CellWindow[]> {
    return this.#fold(run, (frames) => windowReport(frames, this.#openPauses?.()));
  }

  async ledger(run: string): Promise<readonly CellLedger[]> {
    return this.#fold(run, readLedgers);
  }

  async audit(run: string) {
    await this.durable(parseRunId(run));
    const { frames, damaged } = readableFrames(this.store, parseRunId(run));
    const storage = openStorageAudit(parseRunId(run), { store: this.store, folders: this.#folders }, frames);
    const pause = this.#openPauses?.();
    const report = await auditRun(storage.frames, {
      readBlob: (ref) => this.store.getBlob(ref),
      readRun: (other) => this.store.read(other).catch(() => null),
      damaged,
      ...(pause && { pause }),
    });
    // A log with damaged records does not say what should be beside it.
    const beside = damaged.length > 0 ? [] : await storage.problems();
    // If all records are lost, the log does not know its run id.
    return {
      ...report,
      run: parseRunId(run),
      ok: report.ok && beside.length === 0,
      problems: [...report.problems, ...beside],
    };
  }

  async rebuild(run?: string, options?: RebuildOptions): Promise<RebuildReport> {
    return this.store.rebuild(run === undefined ? undefined : parseRunId(run), options);
  }
}

const eachFrame = async (
  frames: FrameSource,
  follow: (frame: Frame) => void,
  pause: ReturnType<OpenPauses> | undefined,
): Promise<void> => {
  for await (const frame of frames) {
    const paused = pause?.();
    if (paused !== undefined) await paused;
    follow(frame);
  }
};

type DeadLetterQuery = { readonly run?: string; readonly runs?: number };

const runsDefault = 100;

/** Reads one log at a time, so that only one is in memory. */
const deadLetters = async (
  store: Store,
  options: DeadLetterQuery,
  openPauses: OpenPauses | undefined,
): Promise<DeadLetters> => {
  checkOptions(options, { run: 'name', runs: 'any' });
  const { run, runs: runsMax = runsDefault } = options;
  if (!Number.isSafeInteger(runsMax) || runsMax < 1)
    throw new CloisterError('mail_invalid', `runs: expected a whole number ≥ 1; got ${String(runsMax)}.`);
  const readOne = (one: RunId): Promise<DeadLetters['letters']> =>
    fromRecords(one, () => deadIn(one, framesOf(store, one), openPauses?.()));
  if (run !== undefined) return { letters: await readOne(run as RunId), read: 1, more: false, damaged: [] };
  // One more shows whether there are older ones.
  const newest = await store.list({ most: runsMax + 1 });
  const damaged: RunId[] = [];
  const letters: DeadLetters['letters'][number][] = [];
  for (const one of newest.slice(0, runsMax)) {
    try {
      letters.push(...(await readOne(one.run)));
    } catch (error) {
      if (!(error instanceof CloisterError)) throw error;
      damaged.push(one.run);
    }
  }
  const read = Math.min(newest.length, runsMax);
  return { letters, read: read - damaged.length, more: newest.length > runsMax, damaged };
};

/** In the order in which they were sent. Those that were read are not kept. */
const deadIn = async (
  run: RunId,
  frames: FrameSource,
  pause: ReturnType<OpenPauses> | undefined,
): Promise<DeadLetters['letters']> => {
  const states = followMessageStates();
  const dead: DeadLetters['letters'][number][] = [];
  const follow = (frame: Frame): void => {
    for (const letter of states.next(frame)) if (letter.state === 'dead') dead.push({ ...letter, run });
  };
  await eachFrame(frames, follow, pause);
  return dead.toSorted((one, other) => one.queuedAt - other.queuedAt);
};
