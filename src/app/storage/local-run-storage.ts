// Deletes recorded runs, and finishes what a crash has left of a deletion.
//
//   deletion-decided-once. What goes is decided on one state of the workspace log, and the commit is refused if that has changed.
//   deletion-names-copies. Nothing that holds the same text stays unnoticed: it goes along, stops the deletion, or is named.
//   deletion-of-caller. For a caller, only what belongs to it is deleted or named.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import { checkOptions, checkOptionType, parseRunId } from '#base/shapes';
import { callerPrefix } from '#contracts';
import type {
  ArchiveRef,
  Clock,
  ConversationRef,
  DeletionReport,
  ExpiryOptions,
  KeepRules,
  RunCopy,
  RunDeletion,
  RunDeletionOptions,
  RunSelection,
  RunStorage,
  RunSummary,
  SealReport,
  SpaceReport,
  Store,
  Tombstone,
  WorkspaceAudit,
} from '#contracts';
import type { RunCopies } from '#app/conversations';
import type { Archives } from './archives.ts';
import { auditWorkspace } from './audit-workspace.ts';
import type { KeepUnit } from './expired-runs.ts';
import { expireRuns } from './run-expiry.ts';
import { findForks } from './find-forks.ts';
import { checkMayDelete, copiesError } from './deletion-refusals.ts';
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

/** `units`: exactly these, all of them or none. */
type DeletionSelection = RunSelection | { readonly units: readonly KeepUnit[] };

/** What is said of each run, if that is not the same for all of them. */
type TombstoneFacts = {
  readonly archiveOf?: (run: RunId) => ArchiveRef | undefined;
  readonly whyOf?: (run: RunId) => string;
};

type Plan = {
  readonly runs: readonly RunSummary[];
  readonly conversations: readonly ConversationRef[];
  readonly left: readonly RunCopy[];
  readonly lastEntryNo: number;
};

export class LocalRunStorage implements RunStorage {
  readonly #ports: RunStoragePorts;

  constructor(ports: RunStoragePorts) {
    this.#ports = ports;
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
    const deleted = await this.#deleteRuns(selection, options, { archiveOf: (run) => archives.get(run) });
    if (dryRun) return { ...deleted, otherFiles: [], space: null };
    const space = await this.#finish(compact);
    return {
      ...deleted,
      otherFiles: await this.#ports.otherFiles(),
      space: this.#ports.store.path === null ? null : space,
    };
  }

  /** What is outside the tables is left for `#finish`. */
  async #deleteRuns(
    selection: DeletionSelection,
    options: RunDeletionOptions,
    { archiveOf, whyOf }: TombstoneFacts,
  ): Promise<Pick<DeletionReport, 'tombstones' | 'conversations' | 'left'>> {
    const { clock } = this.#ports;
    const { why = '', by = 'operator', dryRun = false } = options;
    for (const [name, text] of Object.entries({ why, by }))
      if (text.length > textCharsMax)
        throw new CloisterError('options_invalid', `${name}: expected at most ${textCharsMax} characters.`);
    for (let tries = 1; ; tries++) {
      const plan = await this.#plan(selection, options);
      const deletedAt = clock.now();
      const key = this.#ports.key();
      const ends = await Promise.all(plan.runs.map(({ run }) => this.#endOf(run)));
      const tombstones = plan.runs.map((one, at) => {
        const reason = this.#ports.redact(whyOf?.(one.run) ?? why);
        return makeTombstone(one, ends[at]!, { deletedAt, by, why: reason, archive: archiveOf?.(one.run) }, key);
      });
      try {
        if (!dryRun) await this.#commit(tombstones, plan);
        return { tombstones, conversations: plan.conversations, left: plan.left };
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

  async finishDeletions(options: { readonly compact?: boolean } = {}): Promise<number> {
    checkOptions(options, { compact: 'flag' });
    const { compact = false } = options;
    const pending = await this.#ports.store.pendingDeletions();
    if (pending.length > 0 || compact) await this.#finish(compact);
    return pending.length;
  }

  /** All of them, also those that others have begun: everything in it may be repeated. */
  async #finish(compact: boolean): Promise<SpaceReport> {
    const { store, copies } = this.#ports;
    const pending = await store.pendingDeletions();
    const cleanups = new Map(pending.map(({ cleanup }) => [JSON.stringify(cleanup), cleanup]));
    for (const cleanup of cleanups.values()) await copies.cleanUp(cleanup);
    return store.finishDeletions(
      pending.map(({ run }) => run),
      { compact },
    );
  }

  async #commit(tombstones: readonly Tombstone[], { conversations, lastEntryNo }: Plan): Promise<void> {
    const { store, copies } = this.#ports;
    const runs = new Set(tombstones.map(({ run }) => run));
    const { cleanup, blobs } = await copies.planCleanup(runs, conversations);
    // A conversation without runs of its own leaves nothing that could be noted.
    if (tombstones.length === 0) return copies.cleanUp(cleanup);
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

  async #plan(selection: DeletionSelection, options: RunDeletionOptions): Promise<Plan> {
    const { copies, store } = this.#ports;
    const { withLater = false, force = false, caller } = options;
    const runs = new Set(await this.#selected(selection));
    const conversations = new Map((await this.#conversationsOf(selection)).map((ref) => [JSON.stringify(ref), ref]));
    const selected = runs.size;
    for (const ref of conversations.values()) for (const run of (await copies.runsOf(ref)) ?? []) runs.add(run);
    if ('units' in selection && runs.size > selected)
      throw new CloisterError('run_kept', 'A conversation has a new turn.');
    for (;;) {
      const found = await copies.find(runs);
      const forks = findForks(await store.forkRecords(), runs);
      // Checkpoints are part of a conversation that goes as a whole.
      const all = [...found.copies, ...forks.map((run): RunCopy => ({ kind: 'fork', run }))].filter((one) =>
        one.kind === 'branch'
          ? !conversations.has(JSON.stringify(one.conversation))
          : one.kind !== 'checkpoint' || 'runs' in selection || 'units' in selection,
      );
      const others = caller === undefined ? all : await this.#ofCaller(all, caller);
      const going = withLater || 'caller' in selection ? others : [];
      const left = going.length > 0 ? [] : others;
      if (left.length > 0 && !force) throw copiesError(left);
      const before = runs.size + conversations.size;
      for (const one of going) {
        if (one.kind === 'turn' || one.kind === 'fork') runs.add(one.run);
        if (one.kind !== 'branch') continue;
        conversations.set(JSON.stringify(one.conversation), one.conversation);
        for (const run of (await copies.runsOf(one.conversation)) ?? []) runs.add(run);
      }
      if (runs.size + conversations.size > before) continue;
      const summaries = await this.#summaries(selection, runs, force);
      return { runs: summaries, conversations: [...conversations.values()], left, lastEntryNo: found.lastEntryNo };
    }
  }

  async #selected(selection: DeletionSelection): Promise<readonly RunId[]> {
    if ('runs' in selection) return selection.runs.map((run) => parseRunId(run));
    if ('units' in selection) return selection.units.flatMap(({ runs }) => runs);
    if ('caller' in selection) {
      checkOptionType('caller', selection.caller, 'text');
      return (await this.#ports.store.list({ caller: selection.caller })).map(({ run }) => run);
    }
    return [];
  }

  async #conversationsOf(selection: DeletionSelection): Promise<readonly ConversationRef[]> {
    const { copies } = this.#ports;
    if ('caller' in selection) return copies.named(callerPrefix(selection.caller));
    if ('units' in selection) return selection.units.flatMap(({ conversation }) => conversation ?? []);
    if (!('conversation' in selection)) return [];
    const { agent, name } = selection.conversation;
    if ((await copies.runsOf({ agent, name })) === null) throw new CloisterError('conversation_unknown', `"${name}".`);
    return [{ agent, name }];
  }

  /** Of the copies, those whose runs belong to the caller. */
  async #ofCaller(copies: readonly RunCopy[], caller: string): Promise<readonly RunCopy[]> {
    const runs = copies.flatMap((one) => ('run' in one ? [one.run] : []));
    const own = new Set(
      (await this.#ports.store.list({ runs })).flatMap((one) => (one.caller === caller ? [one.run] : [])),
    );
    return copies.filter((one) =>
      one.kind === 'branch' ? one.conversation.name.startsWith(callerPrefix(caller)) : own.has(one.run),
    );
  }

  /** Throws unless each of them can be deleted. Turns whose runs never began have nothing that could be. */
  async #summaries(
    selection: DeletionSelection,
    runs: ReadonlySet<RunId>,
    force: boolean,
  ): Promise<readonly RunSummary[]> {
    const { store } = this.#ports;
    for (const run of runs) await this.#ports.durable(run);
    const found = new Map((await store.list({ runs: [...runs] })).map((one) => [one.run, one]));
    const asked = 'runs' in selection ? selection.runs.map((run) => parseRunId(run)) : [];
    for (const run of asked) if (!found.has(run)) await store.hashPrefix(run);
    for (const one of found.values()) checkMayDelete(one, force);
    return [...found.values()];
  }
}
