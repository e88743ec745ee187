// A disk with the tables of a workspace. A transaction is written completely or not at all.
//
//   sim-disk-keeps-committed. Committed data survives any crash. Uncommitted data is lost with the connection.
//   sim-disk-doubtful-commit. A failed commit may have been written anyway; the caller cannot know.
import type { RunFacts } from '#adapters/stores';
import { CloisterError } from '#base';
import type { RunId } from '#base';
import { addFacts, selectRuns, noTail } from '#testing/adapters/stores';
import type {
  StoreConnection,
  FrameRow,
  LifeCyclePorts,
  LogRows,
  EpochOwner,
  RunOwner,
  SharedRow,
  SignalRow,
  Tables,
  Tail,
} from '#testing/adapters/stores';
import type { OwnershipEvent, OwnershipRecord } from './leases.ts';
import { never } from './never.ts';
import { RunFolders } from './run-folders.ts';

export type DiskFault = 'full' | 'commit-lost' | 'commit-written' | 'busy' | 'unreadable' | 'unopened';

/** Returns the next fault, if any; called at each place where one can occur. */
export type DiskFaults = (place: 'connect' | 'begin' | 'write' | 'commit' | 'read') => DiskFault | null;

type Row = { readonly no: number; readonly body: string; readonly hash: string };
type DeletedRow = { readonly no: number; readonly pending: string | null };
type RunRow = { readonly facts: RunFacts; readonly end: Tail; readonly nth: number };

/** Called at each step of what a disk does by itself; once it returns false, nothing more happens. */
export type DiskSteps = { readonly step: (place: string) => boolean; readonly fault: DiskFaults };

export class Disk {
  readonly folders = new RunFolders();
  /** What was stored of runs when they were deleted. */
  readonly #former = new Map<RunId, Disk>();
  readonly #frames = new Map<RunId, Row[]>();
  readonly #blobs = new Map<string, Uint8Array<ArrayBuffer>>();
  readonly #owners = new Map<RunId, EpochOwner>();
  #epochs = 0;
  readonly #runs = new Map<RunId, RunRow>();
  readonly #workspaceLog: Row[] = [];
  #signals: readonly SignalRow[] = [];
  readonly #deleted = new Map<RunId, DeletedRow>();
  readonly #loose = new Set<string>();
  readonly #signalWatchers = new Set<() => void>();
  readonly #frameWatchers = new Set<() => void>();
  readonly #shared = new Map<string, SharedRow>();
  /** Is told who acquires, writes and releases runs. */
  ownership: OwnershipRecord | null = null;

  /** The number of stored frames of a run. */
  length(run: RunId): number {
    return this.#frames.get(run)?.length ?? 0;
  }

  body(run: RunId, no: number): string | undefined {
    return this.#frames.get(run)?.[no]?.body;
  }

  /** The stored records of the workspace log. */
  workspaceRecords(): readonly string[] {
    return this.#workspaceLog.map(({ body }) => body);
  }

  /** The signals that wait. */
  signals(): readonly SignalRow[] {
    return this.#signals;
  }

  /** What the disk had of a run when it was deleted last; undefined: it never was. */
  former(run: RunId): Disk | undefined {
    return this.#former.get(run);
  }

  isDeleted(run: RunId): boolean {
    return this.#deleted.has(run);
  }

  pendingDeletions(): readonly { readonly run: RunId; readonly pending: string }[] {
    return [...this.#deleted].flatMap(([run, { pending }]) => (pending === null ? [] : [{ run, pending }]));
  }

  isListed(run: RunId): boolean {
    return this.#runs.has(run);
  }

  blobRefs(): readonly string[] {
    return [...this.#blobs.keys()];
  }

  bodies(run: RunId): readonly string[] {
    return (this.#frames.get(run) ?? []).map(({ body }) => body);
  }

  /** What is done about deleted runs outside of transactions. */
  lifeCycle({ step, fault }: DiskSteps): LifeCyclePorts {
    const bodies = (): readonly string[] => [...this.#frames.keys()].flatMap((run) => this.bodies(run));
    return {
      pending: () => this.pendingDeletions(),
      finish: async (runs) => {
        const gone = runs.filter((run) => this.#deleted.has(run));
        for (const run of gone) {
          if (!step('remove folder of deleted run')) return never();
          this.folders.remove(run);
        }
        if (!step('remove blobs of deleted runs')) return never();
        if (fault('write') !== null) throw new CloisterError('store_failed', 'database or disk is full');
        const all = bodies();
        const unused = [...this.#loose].filter((ref) => !all.some((body) => body.includes(ref)));
        for (const ref of unused) this.#blobs.delete(ref);
        this.#loose.clear();
        if (!step('finish deletions')) return never();
        // Somebody reads, so the write-ahead log cannot be emptied.
        const isFinished = fault('begin') === null;
        for (const run of isFinished ? gone : []) this.#deleted.set(run, { ...this.#deleted.get(run)!, pending: null });
        return { bytesBefore: 0, bytesAfter: 0, blobs: unused.length, isFinished };
      },
      forkBodies: async () => bodies().filter((body) => body.includes('"type":"fork"')),
      runBytes: () =>
        new Map([...this.#frames].map(([run, rows]) => [run, rows.reduce((sum, { body }) => sum + body.length, 0)])),
      strayFolders: () => [],
      leftovers: async () => [],
    };
  }

  /** Calls back after each commit that has stored signals. Returns a function that stops it. */
  watchSignals(notify: () => void): () => void {
    this.#signalWatchers.add(notify);
    return () => void this.#signalWatchers.delete(notify);
  }

  /** The same after each commit. */
  watchFrames(notify: () => void): () => void {
    this.#frameWatchers.add(notify);
    return () => void this.#frameWatchers.delete(notify);
  }

  owners(): readonly (readonly [RunId, RunOwner])[] {
    return [...this.#owners];
  }

  hasBlob(ref: string): boolean {
    return this.#blobs.has(ref);
  }

  /** Changes or deletes a stored record. */
  damage(run: RunId, no: number, change: (row: Row) => Row | null): void {
    const rows = this.#frames.get(run) ?? [];
    const changed = change(rows[no]!);
    rows.splice(no, 1, ...(changed === null ? [] : [changed]));
  }

  /** A connection of a process for writing. Once `alive` returns false, it has no effect any more. */
  connect(alive: () => boolean, fault: DiskFaults, process = 0): StoreConnection {
    if (fault('connect') !== null) throw diskError('unable to open database file', 14);
    let undo: (() => void)[] | null = null;
    let signals = 0;
    const rollBack = (): void => {
      for (const one of (undo ?? []).toReversed()) one();
      undo = null;
    };
    const write = (change: () => () => void): void => {
      if (!alive()) return rollBack();
      if (fault('write') !== null) throw diskError('database or disk is full', 13);
      if (undo === null) throw new Error('a write outside a transaction');
      undo.push(change());
    };
    return {
      tables: this.#tables(write, () => void signals++, process),
      begin() {
        if (!alive()) return;
        if (fault('begin') !== null) throw diskError('database is locked', 5);
        undo = [];
        signals = 0;
      },
      commit: () => {
        if (!alive()) return rollBack();
        const failed = fault('commit');
        if (failed === 'commit-lost') rollBack();
        undo = null;
        if (signals > 0 && failed !== 'commit-lost') for (const notify of this.#signalWatchers) notify();
        for (const notify of this.#frameWatchers) notify();
        if (failed !== null) throw diskError('disk I/O error', 10);
      },
      isInPlace: () => true,
      close: rollBack,
    };
  }

  rows(fault: DiskFaults): LogRows {
    const read = <T>(look: () => T): T => {
      if (fault('read') !== null) throw new CloisterError('store_failed', 'disk I/O error');
      return look();
    };
    return {
      check: () => undefined,
      log: (run, reading) =>
        read(() => reading((this.#frames.get(run) ?? []) as readonly FrameRow[], this.#runs.get(run)?.end)),
      list: (which) =>
        read(() => {
          const listed = [...this.#runs]
            .map(([run, { facts, nth }]) => ({ run, ...facts, owner: this.#owners.get(run) ?? null, nth }))
            .sort((one, other) => one.nth - other.nth);
          return selectRuns(listed, which).map(({ nth: _nth, ...row }) => row);
        }),
      runs: () => read(() => [...this.#frames.keys()]),
      tailAt: (run, frames) =>
        read(() => {
          const rows = this.#frames.get(run) ?? [];
          return frames === undefined ? rows.at(-1) : rows.find(({ no }) => no === frames - 1);
        }),
      workspaceLog: (from, reading) =>
        read(() =>
          reading(this.#workspaceLog.filter(({ no }) => no >= from) as readonly FrameRow[], this.#workspaceLog.at(-1)),
        ),
      blob: (ref) => read(() => this.#blobs.get(ref)),
      deletion: (run) => this.#workspaceLog.find(({ no }) => no === this.#deleted.get(run)?.no)?.body,
      // Reading an empty table draws no fault, so that runs without signals stay what they were.
      signals: (run) =>
        this.#signals.length === 0
          ? []
          : read(() => this.#signals.filter((one) => run === undefined || one.run === run)),
      shared: (key) => read(() => this.#shared.get(key)),
      close: () => undefined,
    };
  }

  #tables(write: (change: () => () => void) => void, onSignal: () => void, process: number): Tables {
    const noting = (what: OwnershipEvent['what'], run: RunId, undo: () => void): (() => void) =>
      this.ownership?.note(what, run, process, undo) ?? undo;
    return {
      tail: (run) => this.#frames.get(run)?.at(-1),
      insertFrame: (run, no, body, hash) => write(() => noting('wrote', run, this.#addFrame(run, { no, body, hash }))),
      putBlob: (ref, bytes) =>
        write(() => {
          const undo = [setWithUndo(this.#blobs, ref, bytes), this.#setLoose(ref, false)];
          return () => undo.forEach((one) => one());
        }),
      recordOfDeletion: (run) => this.#deleted.get(run)?.no,
      deleteRun: (run, no, pending) => {
        const text = this.bodies(run).join();
        const refs = [...this.#blobs.keys()].filter((ref) => text.includes(ref));
        // Of a run that was archived nothing is left here.
        if (this.length(run) > 0) write(() => setWithUndo(this.#former, run, this.#copyOf(run)));
        for (const ref of refs) write(() => this.#setLoose(ref, true));
        write(() => setWithUndo(this.#frames, run, undefined));
        write(() => setWithUndo(this.#runs, run, undefined));
        write(() => noting('deleted', run, setWithUndo(this.#owners, run, undefined)));
        write(() => this.#setSignals(this.#signals.filter((one) => one.run !== run)));
        write(() => setWithUndo(this.#deleted, run, { no, pending }));
      },
      loosenBlobs: (refs) => {
        for (const ref of refs) if (this.#blobs.has(ref)) write(() => this.#setLoose(ref, true));
      },
      undeleteRun: (run) => write(() => setWithUndo(this.#deleted, run, undefined)),
      owner: (run) => this.#owners.get(run),
      setOwner: (run, owner) => write(() => noting('acquired', run, setWithUndo(this.#owners, run, owner))),
      // Never used twice, whatever becomes of the transaction.
      nextEpoch: () => ++this.#epochs,
      release: (run, instance) =>
        write(() =>
          this.#owners.get(run)?.instance === instance
            ? noting('released', run, setWithUndo(this.#owners, run, undefined))
            : nothing,
        ),
      releaseAll: (instance) =>
        write(() => {
          const undo = [...this.#owners].flatMap(([run, owner]) =>
            owner.instance === instance ? [noting('released', run, setWithUndo(this.#owners, run, undefined))] : [],
          );
          return () => undo.forEach((one) => one());
        }),
      updateRun: (run, facts, end) => write(() => this.#list(run, facts, end)),
      workspaceLogTail: () => this.#workspaceLog.at(-1),
      insertRecord: (no, body, hash) =>
        write(() => {
          if ((this.#workspaceLog.at(-1)?.no ?? noTail.no) >= no) throw diskError('UNIQUE constraint failed', 19);
          this.#workspaceLog.push({ no, body, hash });
          return () => void this.#workspaceLog.pop();
        }),
      waitingSignals: (run, id) => {
        const ofRun = this.#signals.filter((one) => one.run === run);
        return { count: ofRun.length, isKnown: ofRun.some((one) => one.id === id) };
      },
      insertSignal: (signal) =>
        write(() => {
          onSignal();
          return this.#setSignals([...this.#signals, signal]);
        }),
      removeSignal: (run, id) =>
        write(() => this.#setSignals(this.#signals.filter((one) => one.run !== run || one.id !== id))),
      sharedVersion: (key) => this.#shared.get(key)?.version ?? 0,
      setShared: (key, row) => write(() => setWithUndo(this.#shared, key, row)),
    };
  }

  #addFrame(run: RunId, row: Row): () => void {
    const rows = this.#frames.get(run) ?? [];
    if ((rows.at(-1)?.no ?? noTail.no) >= row.no) throw diskError('UNIQUE constraint failed', 19);
    this.#frames.set(run, rows);
    rows.push(row);
    return () => void rows.pop();
  }

  /** Everything that is stored of a run, with all blobs. */
  #copyOf(run: RunId): Disk {
    const copy = new Disk();
    copy.#frames.set(run, [...(this.#frames.get(run) ?? [])]);
    const row = this.#runs.get(run);
    if (row !== undefined) copy.#runs.set(run, row);
    for (const [ref, bytes] of this.#blobs) copy.#blobs.set(ref, bytes);
    return copy;
  }

  #setLoose(ref: string, isLoose: boolean): () => void {
    const was = this.#loose.has(ref);
    if (isLoose) this.#loose.add(ref);
    else this.#loose.delete(ref);
    return () => void (was ? this.#loose.add(ref) : this.#loose.delete(ref));
  }

  #setSignals(signals: readonly SignalRow[]): () => void {
    const before = this.#signals;
    this.#signals = signals;
    return () => void (this.#signals = before);
  }

  #list(run: RunId, facts: RunFacts, end: Tail): () => void {
    const kept = this.#runs.get(run);
    const nth = kept?.nth ?? this.#runs.size;
    return setWithUndo(this.#runs, run, { facts: kept === undefined ? facts : addFacts(kept.facts, facts), end, nth });
  }
}

const nothing = (): void => undefined;

/** Sets or deletes an entry, and returns a function that undoes it. */
const setWithUndo = <K, V>(map: Map<K, V>, key: K, value: V | undefined): (() => void) => {
  const before = map.get(key);
  const set = (one: V | undefined): void => void (one === undefined ? map.delete(key) : map.set(key, one));
  set(value);
  return () => set(before);
};

/** An error as SQLite throws it. */
const diskError = (message: string, errcode: number): Error => Object.assign(new Error(message), { errcode });
