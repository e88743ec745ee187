// Which runs a deletion takes, with what holds the same text, on one state of the workspace log.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import { checkOptionType, parseRunId } from '#base/shapes';
import { callerPrefix } from '#contracts';
import type {
  ConversationRef,
  RunCopy,
  RunDeletionOptions,
  RunSelection,
  RunSummary,
  Store,
  Tombstone,
} from '#contracts';
import type { RunCopies } from '#app/conversations';
import type { Archives, FoundArchives } from './archives.ts';
import { checkMayDelete, copiesError } from './deletion-refusals.ts';
import type { KeepUnit } from './expired-runs.ts';
import { findForks } from './find-forks.ts';

/** `units`: exactly these, all of them or none. */
export type DeletionSelection = RunSelection | { readonly units: readonly KeepUnit[] };

export type DeletionPlan = {
  readonly runs: readonly RunSummary[];
  /** Of these, only archives are left. */
  readonly archived: readonly Tombstone[];
  /** Archives that go, by the names of their files, and files that may be archives and cannot be read. */
  readonly archives: readonly string[];
  readonly unreadable: readonly string[];
  readonly conversations: readonly ConversationRef[];
  readonly left: readonly RunCopy[];
  readonly lastEntryNo: number;
};

type PlanPorts = {
  readonly store: Store;
  readonly copies: RunCopies;
  readonly archives: Archives;
  /** Resolves when everything recorded so far by a run of this process is durable. */
  readonly durable: (run: RunId) => Promise<void>;
};

export class DeletionPlanner {
  readonly #ports: PlanPorts;

  constructor(ports: PlanPorts) {
    this.#ports = ports;
  }

  /** Throws if something that is not forced stops it. */
  async plan(selection: DeletionSelection, options: RunDeletionOptions): Promise<DeletionPlan> {
    const { copies, store } = this.#ports;
    const { withLater = false, force = false, caller } = options;
    const found = await this.#findArchives(selection);
    const runs = new Set([...(await this.#selected(selection)), ...found.runs]);
    const conversations = new Map((await this.#conversationsOf(selection)).map((ref) => [JSON.stringify(ref), ref]));
    const selected = runs.size;
    for (const ref of conversations.values()) for (const run of (await copies.runsOf(ref)) ?? []) runs.add(run);
    if ('units' in selection && runs.size > selected)
      throw new CloisterError('run_kept', 'A conversation has a new turn.');
    for (;;) {
      const copied = await copies.find(runs);
      const forks = findForks(await store.forkRecords(), runs);
      // Checkpoints are part of a conversation that goes as a whole.
      const all = [...copied.copies, ...forks.map((run): RunCopy => ({ kind: 'fork', run }))].filter((one) =>
        isCopyFor(selection, one, conversations),
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
      const tombstones = (await copies.tombstones()).filter(({ run }) => runs.has(run));
      const archived = tombstones.filter(({ archive }) => archive !== undefined);
      const summaries = await this.#summaries(selection, { runs, archived }, force);
      const named = [...summaries, ...archived].map(({ run }) => run);
      return {
        runs: summaries,
        archived,
        archives: [...new Set([...found.files, ...(await this.#ports.archives.filesOf(named))])],
        unreadable: found.unreadable,
        conversations: [...conversations.values()],
        left,
        lastEntryNo: copied.lastEntryNo,
      };
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

  /** Archives that the selection means besides those of its runs. */
  async #findArchives(selection: DeletionSelection): Promise<FoundArchives> {
    const { archives, copies } = this.#ports;
    const none = { runs: [], files: [], unreadable: [] };
    if ('conversation' in selection) return { ...none, runs: await copies.archivedRunsOf(selection.conversation) };
    return 'caller' in selection ? archives.findOf(selection.caller) : none;
  }

  async #conversationsOf(selection: DeletionSelection): Promise<readonly ConversationRef[]> {
    const { copies } = this.#ports;
    if ('caller' in selection) return copies.named(callerPrefix(selection.caller));
    if ('units' in selection) return selection.units.flatMap(({ conversation }) => conversation ?? []);
    if (!('conversation' in selection)) return [];
    const { agent, name } = selection.conversation;
    if ((await copies.runsOf({ agent, name })) !== null) return [{ agent, name }];
    if ((await copies.archivedRunsOf({ agent, name })).length > 0) return [];
    throw new CloisterError('conversation_unknown', `"${name}".`);
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
    { runs, archived }: { readonly runs: ReadonlySet<RunId>; readonly archived: readonly Tombstone[] },
    force: boolean,
  ): Promise<readonly RunSummary[]> {
    const { store } = this.#ports;
    for (const run of runs) await this.#ports.durable(run);
    const found = new Map((await store.list({ runs: [...runs] })).map((one) => [one.run, one]));
    const asked = 'runs' in selection ? selection.runs.map((run) => parseRunId(run)) : [];
    const isArchived = new Set(archived.map(({ run }) => run));
    for (const run of asked) if (!found.has(run) && !isArchived.has(run)) await store.hashPrefix(run);
    for (const one of found.values()) checkMayDelete(one, force);
    return [...found.values()];
  }
}

/** A branch that goes is no copy, and checkpoints are part of a conversation that goes as a whole. What was archived does not stop an expiry. */
const isCopyFor = (
  selection: DeletionSelection,
  copy: RunCopy,
  conversations: ReadonlyMap<string, ConversationRef>,
): boolean => {
  if (copy.kind === 'branch') return !conversations.has(JSON.stringify(copy.conversation));
  if (copy.kind === 'checkpoint') return 'runs' in selection || 'units' in selection;
  return copy.kind !== 'turn' || copy.isArchived !== true || !('units' in selection);
};
