// Deletes recorded runs, and finishes what a crash has left of a deletion.
//
//   deletion-decided-once. What goes is decided on one state of the workspace log, and the commit is refused if that has changed.
//   deletion-names-copies. Nothing that holds the same text stays unnoticed: it goes along, stops the deletion, or is named.
//   deletion-of-caller. For a caller, only what belongs to it is deleted or named.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import { amount, checkOptions, checkOptionType, parseRunId, whole } from '#base/shapes';
import { callerPrefix } from '#contracts';
import type {
  ArchiveRef,
  Clock,
  ConversationRef,
  DeletionReport,
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
import { expiredUnits } from './expired-runs.ts';
import { findForks } from './find-forks.ts';
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

const keptCodes: readonly string[] = ['run_kept', 'run_owned', 'run_unknown', 'conversation_unknown'];

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
    selection: RunSelection,
    options: RunDeletionOptions,
    archives: ReadonlyMap<RunId, ArchiveRef>,
  ): Promise<DeletionReport> {
    const { store, clock } = this.#ports;
    const { why = '', by = 'operator', compact = false, dryRun = false } = options;
    for (const [name, text] of Object.entries({ why, by }))
      if (text.length > textCharsMax)
        throw new CloisterError('options_invalid', `${name}: expected at most ${textCharsMax} characters.`);
    for (let tries = 1; ; tries++) {
      const plan = await this.#plan(selection, options);
      const deletion = { deletedAt: clock.now(), by, why: this.#ports.redact(why) };
      const key = this.#ports.key();
      const ends = await Promise.all(plan.runs.map(({ run }) => this.#endOf(run)));
      const tombstones = plan.runs.map((one, at) =>
        makeTombstone(one, ends[at]!, { ...deletion, archive: archives.get(one.run) }, key),
      );
      const report = { tombstones, conversations: plan.conversations, left: plan.left };
      if (dryRun) return { ...report, otherFiles: [], space: null };
      try {
        await this.#commit(tombstones, plan);
      } catch (error) {
        if (!(error instanceof CloisterError) || error.code !== 'book_moved' || tries >= triesMax) throw error;
        continue;
      }
      const space = await this.#finish(compact);
      return { ...report, otherFiles: await this.#ports.otherFiles(), space: store.path === null ? null : space };
    }
  }

  async expire(rules: KeepRules, options: { readonly dryRun?: boolean } = {}): Promise<readonly Tombstone[]> {
    checkOptions(rules, { days: amount(0), runs: whole(0), bytes: whole(0), agent: 'name' });
    checkOptions(options, { dryRun: 'flag' });
    const { store, clock, copies } = this.#ports;
    const { conversations, asked } = await copies.kept();
    const recorded = {
      runs: await store.list(),
      conversations: conversations.map(({ ref, nodes }) => ({ conversation: ref, runs: [...nodes.keys()] })),
      asked,
      bytes: rules.bytes === undefined ? new Map<RunId, number>() : await store.runBytes(),
    };
    const gone: Tombstone[] = [];
    for (const { conversation, runs } of expiredUnits(recorded, rules, clock.now()))
      try {
        const selection = conversation === null ? { runs } : { conversation };
        const deletion = { by: 'retention', dryRun: options.dryRun ?? false };
        gone.push(...(await this.#delete(selection, deletion, new Map())).tombstones);
      } catch (error) {
        // Others hold the same text, or it has just been taken up again: it stays until that is over.
        const isKept = error instanceof CloisterError && keptCodes.includes(error.code);
        if (!isKept) throw error;
      }
    return gone;
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

  async #plan(selection: RunSelection, options: RunDeletionOptions): Promise<Plan> {
    const { copies, store } = this.#ports;
    const { withLater = false, force = false, caller } = options;
    const runs = new Set(await this.#selected(selection));
    const conversations = new Map((await this.#conversationsOf(selection)).map((ref) => [JSON.stringify(ref), ref]));
    for (const ref of conversations.values()) for (const run of (await copies.runsOf(ref)) ?? []) runs.add(run);
    for (;;) {
      const found = await copies.find(runs);
      const forks = findForks(await store.forkRecords(), runs);
      // Checkpoints are part of a conversation that goes as a whole.
      const all = [...found.copies, ...forks.map((run): RunCopy => ({ kind: 'fork', run }))].filter((one) =>
        one.kind === 'branch'
          ? !conversations.has(JSON.stringify(one.conversation))
          : one.kind !== 'checkpoint' || 'runs' in selection,
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

  async #selected(selection: RunSelection): Promise<readonly RunId[]> {
    if ('runs' in selection) return selection.runs.map((run) => parseRunId(run));
    if ('caller' in selection) {
      checkOptionType('caller', selection.caller, 'text');
      return (await this.#ports.store.list({ caller: selection.caller })).map(({ run }) => run);
    }
    return [];
  }

  async #conversationsOf(selection: RunSelection): Promise<readonly ConversationRef[]> {
    const { copies } = this.#ports;
    if ('caller' in selection) return copies.named(callerPrefix(selection.caller));
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
  async #summaries(selection: RunSelection, runs: ReadonlySet<RunId>, force: boolean): Promise<readonly RunSummary[]> {
    const { store } = this.#ports;
    for (const run of runs) await this.#ports.durable(run);
    const found = new Map((await store.list({ runs: [...runs] })).map((one) => [one.run, one]));
    const asked = 'runs' in selection ? selection.runs.map((run) => parseRunId(run)) : [];
    for (const run of asked) if (!found.has(run)) await store.hashPrefix(run);
    for (const one of found.values()) checkMayDelete(one, force);
    return [...found.values()];
  }
}

const checkMayDelete = ({ run, state, owner, elsewhere }: RunSummary, force: boolean): void => {
  if (state === 'running') {
    const fix = elsewhere === true ? ' If that process is dead, take the run over first.' : ' Cancel it first.';
    throw new CloisterError('run_owned', `Run ${run}. Owner: ${owner ?? 'another process'}.${fix}`);
  }
  if (force || state === 'ended') return;
  const why =
    state === 'damaged'
      ? `Run ${run} has lost records, so its tombstone would not say what its log was.`
      : `Run ${run} has not ended: it was interrupted, or waits for people. Resume it to its end or cancel it.`;
  throw new CloisterError('run_kept', why);
};

const namedMax = 20;

const copiesError = (copies: readonly RunCopy[]): CloisterError => {
  const named = copies.slice(0, namedMax).map(describeCopy);
  const more = copies.length > namedMax ? ` and ${copies.length - namedMax} more` : '';
  return new CloisterError(
    'run_kept',
    `The same text is also in: ${named.join('; ')}${more}. Delete these as well with --with-later (in code: \`withLater: true\`).`,
  );
};

const describeCopy = (copy: RunCopy): string => {
  switch (copy.kind) {
    case 'turn':
      return `run ${copy.run}, a later turn of "${copy.conversation.name}"`;
    case 'fork':
      return `run ${copy.run}, which continues it`;
    case 'branch':
      return `the conversation "${copy.conversation.name}" of "${copy.conversation.agent}", a branch`;
    case 'checkpoint':
      return `checkpoint ${copy.checkpoint} of run ${copy.run}`;
  }
};
