// Deletes recorded runs, and finishes what a crash has left of a deletion.
//
//   deletion-decided-once. What goes is decided on one state of the workspace log, and the commit is refused if that has changed.
//   deletion-names-copies. Nothing that holds the same text stays unnoticed: it goes along, stops the deletion, or is named.
//   deletion-of-caller. For a caller, only what belongs to it is deleted or named.
import { CloisterError } from '#base';
import type { JsonObject, RunId } from '#base';
import { checkOptions, parseRunId } from '#base/shapes';
import type {
  ArchiveRef,
  Clock,
  DeletionReport,
  ExpiryOptions,
  KeepRules,
  RunDeletion,
  RunDeletionOptions,
  RunSelection,
  RunStorage,
  SealReport,
  SpaceReport,
  Store,
  Tombstone,
  WorkspaceAudit,
} from '#contracts';
import type { RunCopies } from '#app/conversations';
import type { Archives } from './archives.ts';
import { auditWorkspace } from './audit-workspace.ts';
import { DeletionPlanner } from './deletion-plan.ts';
import type { DeletionPlan, DeletionSelection } from './deletion-plan.ts';
import { expireRuns } from './run-expiry.ts';
import type { OperatorKey } from './operator-key.ts';
import { checkSeals, makeSeal } from './seals.ts';
import { makeTombstone } from './tombstones.ts';
import type { LogEnd } from './tombstones.ts';

type RunStoragePorts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly copies: RunCopies;
  readonly archives: Archives;
  /** Null: the operator has none. Read when it is first used. */
  key(): OperatorKey | null;
  /** How long runs are kept; null: nothing says it. */
  keep(): KeepRules | null;
  /** Absent where there is no real time. */
  readonly openPauses?: (() => () => Promise<void> | undefined) | undefined;
  redact(text: string): string;
  /** Resolves when everything recorded so far by a run of this process is durable. */
  durable(run: RunId): Promise<void>;
  /** Files of the workspace that may hold text of runs, and that nobody here changes. */
  otherFiles(): Promise<readonly string[]>;
};

const deletionFields = {
  why: 'text',
  by: 'text',
  force: 'flag',
  withLater: 'flag',
  compact: 'flag',
  dryRun: 'flag',
  caller: 'text',
} as const;

/** How many runs one commit deletes, and how often a deletion is decided anew because the workspace has changed. */
const [runsPerCommit, triesMax, textCharsMax] = [500, 20, 500];

/** What is said of each run, if that is not the same for all of them. */
type TombstoneFacts = {
  readonly archiveOf?: (run: RunId) => ArchiveRef | undefined;
  readonly whyOf?: (run: RunId) => string;
};

export class LocalRunStorage implements RunStorage {
  readonly #ports: RunStoragePorts;
  readonly #planner: DeletionPlanner;

  constructor(ports: RunStoragePorts) {
    this.#ports = ports;
    this.#planner = new DeletionPlanner({ ...ports, durable: (run) => ports.durable(run) });
  }

  delete(selection: RunSelection, options: RunDeletionOptions = {}): Promise<DeletionReport> {
    checkOptions(options, deletionFields);
    return this.#delete(selection, options, new Map());
  }

  async export(run: string): Promise<Uint8Array> {
    const id = parseRunId(run);
    await this.#ports.durable(id);
    return this.#ports.archives.encode(id);
  }

  async import(archive: Uint8Array, options: { readonly by?: string; readonly force?: boolean } = {}): Promise<RunId> {
    checkOptions(options, { by: 'text', force: 'flag' });
    const { by = 'operator', force = false } = options;
    return this.#ports.archives.take(archive, by, () => force);
  }

  async archive(
    runs: readonly string[],
    options: Pick<RunDeletionOptions, 'why' | 'by' | 'force'> = {},
  ): Promise<DeletionReport> {
    checkOptions(options, { why: 'text', by: 'text', force: 'flag' });
    // Before anything is written: whether they can go.
    await this.#delete({ runs }, { ...options, dryRun: true }, new Map());
    const archives = new Map<RunId, ArchiveRef>();
    // probe: archive-saved
    for (const run of runs.map((one) => parseRunId(one))) archives.set(run, await this.#ports.archives.save(run));
    return this.#delete({ runs }, options, archives);
  }

  async restore(run: string, options: { readonly by?: string } = {}): Promise<void> {
    checkOptions(options, { by: 'text' });
    const tombstone = await this.tombstone(run);
    if (tombstone?.archive === undefined) throw new CloisterError('run_unknown', `Run ${run} is not archived here.`);
    const { archive } = tombstone;
    await this.#ports.archives.take(await this.#ports.archives.read(archive), options.by ?? 'operator', () => true);
    await this.#ports.archives.remove(archive);
  }

  async #delete(
    selection: DeletionSelection,
    options: RunDeletionOptions,
    archives: ReadonlyMap<RunId, ArchiveRef>,
  ): Promise<DeletionReport> {
    const { compact = false, dryRun = false } = options;
    const { unreadable, ...deleted } = await this.#deleteRuns(selection, options, {
      archiveOf: (run) => archives.get(run),
    });
    if (dryRun) return { ...deleted, otherFiles: unreadable, space: null };
    const space = await this.#finish(compact);
    return {
      ...deleted,
      otherFiles: [...unreadable, ...(await this.#ports.otherFiles())],
      space: this.#ports.store.path === null ? null : space,
    };
  }

  /** What is outside the tables is left for `#finish`. */
  async #deleteRuns(
    selection: DeletionSelection,
    options: RunDeletionOptions,
    { archiveOf, whyOf }: TombstoneFacts,
  ): Promise<Omit<DeletionReport, 'otherFiles' | 'space'> & Pick<DeletionPlan, 'unreadable'>> {
    const { clock } = this.#ports;
    const { why = '', by = 'operator', dryRun = false } = options;
    for (const [name, text] of Object.entries({ why, by }))
      if (text.length > textCharsMax)
        throw new CloisterError('options_invalid', `${name}: expected at most ${textCharsMax} characters.`);
    for (let tries = 1; ; tries++) {
      const plan = await this.#planner.plan(selection, options);
      const deletedAt = clock.now();
      const key = this.#ports.key();
      const ends = await Promise.all(plan.runs.map(({ run }) => this.#endOf(run)));
      const deletion = (run: RunId) => ({ deletedAt, by, why: this.#ports.redact(whyOf?.(run) ?? why) });
      const tombstones = plan.runs.map((one, at) =>
        makeTombstone(one, ends[at]!, { ...deletion(one.run), archive: archiveOf?.(one.run) }, key),
      );
      // Of these, no records are left that could be counted.
      for (const one of plan.archived) tombstones.push(makeTombstone(one, one, deletion(one.run), key));
      const archived = new Set(tombstones.flatMap(({ archive }) => archive?.file ?? []));
      const archives = plan.archives.filter((file) => !archived.has(file));
      try {
        if (!dryRun) await this.#commit(tombstones, { ...plan, archives });
        const { conversations, left, unreadable } = plan;
        return { tombstones, archives, conversations, left, unreadable };
      } catch (error) {
        if (!(error instanceof CloisterError) || error.code !== 'book_moved' || tries >= triesMax) throw error;
      }
    }
  }

  get keep(): KeepRules | null {
    return this.#ports.keep();
  }

  async expire(rules?: KeepRules, options: ExpiryOptions = {}): Promise<readonly Tombstone[]> {
    const { store, clock, copies, openPauses } = this.#ports;
    return expireRuns(rules ?? this.keep, options, {
      store,
      clock,
      copies,
      pause: openPauses?.() ?? (() => undefined),
      remove: async (units, { dryRun, whyOf }) =>
        (await this.#deleteRuns({ units }, { by: 'retention', dryRun }, { whyOf })).tombstones,
      finish: () => this.#finish(false),
    });
  }

  seal(file: string): Promise<string> {
    const { store, clock } = this.#ports;
    return makeSeal(file, { store, at: clock.now(), key: this.#ports.key() });
  }

  async checkSeals(file: string, options: { readonly key?: string } = {}): Promise<SealReport> {
    checkOptions(options, { key: 'text' });
    return checkSeals(file, this.#ports.store, options.key ?? this.#ports.key()?.publicKey ?? null);
  }

  audit(): Promise<WorkspaceAudit> {
    return auditWorkspace(this.#ports.store);
  }

  unknownFolders(): Promise<readonly string[]> {
    return this.#ports.store.strayFolders();
  }

  tombstone(run: string): Promise<Tombstone | null> {
    return this.#ports.store.tombstone(parseRunId(run));
  }

  async tombstones(query: { readonly prefix?: string } = {}): Promise<readonly Tombstone[]> {
    checkOptions(query, { prefix: 'text' });
    const { prefix = '' } = query;
    return (await this.#ports.copies.tombstones()).filter(({ run }) => run.startsWith(prefix));
  }

  async finishDeletions(options: { readonly compact?: boolean } = {}): Promise<number> {
    checkOptions(options, { compact: 'flag' });
    const { compact = false } = options;
    const pending = await this.#ports.store.pendingDeletions();
    // probe: deletion-finished-later
    if (pending.length > 0 || compact) await this.#finish(compact);
    return pending.length;
  }

  /** All of them, also those that others have begun: everything in it may be repeated. */
  async #finish(compact: boolean): Promise<SpaceReport> {
    const { store } = this.#ports;
    const pending = await store.pendingDeletions();
    const cleanups = new Map(pending.map(({ cleanup }) => [JSON.stringify(cleanup), cleanup]));
    for (const cleanup of cleanups.values()) await this.#cleanUp(cleanup);
    return store.finishDeletions(
      pending.map(({ run }) => run),
      { compact },
    );
  }

  async #cleanUp(cleanup: JsonObject): Promise<void> {
    await this.#ports.archives.removeFiles(cleanup['archives']);
    await this.#ports.copies.cleanUp(cleanup);
  }

  async #commit(
    tombstones: readonly Tombstone[],
    { conversations, lastEntryNo, archives }: DeletionPlan,
  ): Promise<void> {
    const { store, copies } = this.#ports;
    const runs = new Set(tombstones.map(({ run }) => run));
    const { cleanup: ofCopies, blobs } = await copies.planCleanup(runs, conversations);
    const cleanup = { ...ofCopies, archives: [...archives] };
    // A conversation without runs of its own leaves nothing that could be noted.
    if (tombstones.length === 0) return this.#cleanUp(cleanup);
    const deletions = tombstones.map((tombstone): RunDeletion => ({ tombstone, cleanup, blobs }));
    for (let from = 0; from < deletions.length; from += runsPerCommit)
      await store.deleteRuns(deletions.slice(from, from + runsPerCommit), lastEntryNo + from);
  }

  async #endOf(run: RunId): Promise<LogEnd> {
    try {
      const { frames, hash } = await this.#ports.store.hashPrefix(run);
      return { frames, head: hash };
    } catch (error) {
      if (!(error instanceof CloisterError) || error.code !== 'run_unknown') throw error;
      return { frames: 0, head: null };
    }
  }
}
