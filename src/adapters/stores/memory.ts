// A store in memory: frames are kept by reference and nothing is copied.
//
//   memory-ended-bounded. Past a number of runs, or of bytes, a caller's oldest ended runs are dropped, with the values that no other ended
//       run refers to. Its newest one stays, however large it is, so that whoever waited for it can read it.
import { CloisterError, deepFreeze, PromptlyReleasingMap, isName, sha256, utf8Bytes } from '#base';
import type { Hash, JsonObject, RunId } from '#base';
import type {
  Frame,
  ImportRecord,
  RunDeletion,
  RunLog,
  RunQuery,
  RunSummary,
  Signal,
  SpaceReport,
  Store,
  StoreLifeCycle,
  Tombstone,
  WorkspaceEntry,
  WorkspaceRecord,
} from '#contracts';
import { workspaceRecordBody, appendRefusal } from './workspace-log.ts';
import { noTail, recordHash } from './chain.ts';
import { describeTombstone } from './describe-tombstone.ts';
import { changeError, checkImported } from './life-cycle.ts';
import { prefixLengthError } from './log-reader.ts';
import { foldFacts, noFacts, selectRuns } from './run-facts.ts';
import type { RunFacts } from './run-facts.ts';
import { decideSignal, isStored, parseSignal, SignalListeners, signalRow } from './signals.ts';

/** Ended runs to keep for each caller: one limit for all would show a caller how many runs others have had. */
type EndedMax = { readonly runs: number; readonly bytes: number };

const endedMax: EndedMax = { runs: 1_000, bytes: 64 * 1024 * 1024 };

/** An ended run, its estimated size, and the large values that it refers to. */
type EndedRun = { readonly run: RunId; readonly bytes: number; readonly refs: readonly string[] };

type CallerEnded = { readonly runs: EndedRun[]; bytes: number };

/** The ended runs of each caller, oldest first, and the large values that they refer to. */
class EndedRuns {
  readonly #most: EndedMax;
  readonly #runs: Runs;
  readonly #blobs: Map<string, Uint8Array>;
  readonly #byCaller = new Map<string, CallerEnded>();
  /** How many ended runs refer to a value. */
  readonly #users = new Map<string, number>();
  /**
   * Values that no ended run refers to any more, and how many runs had begun by then. Of those that were running, nobody knows what they
   * refer to before they have ended.
   */
  readonly #unused = new Map<string, number>();

  constructor(most: EndedMax, runs: Runs, blobs: Map<string, Uint8Array>) {
    this.#most = most;
    this.#runs = runs;
    this.#blobs = blobs;
  }

  /** Returns the runs that are to be dropped for it. `begun`: how many runs have begun. */
  add(run: RunId, log: MemoryRunLog, begun: number): readonly RunId[] {
    const caller = openedBy(log);
    const ended = this.#byCaller.get(caller) ?? { runs: [], bytes: 0 };
    this.#byCaller.set(caller, ended);
    const one = this.#measure(run, log);
    ended.runs.push(one);
    ended.bytes += one.bytes;
    const dropped: RunId[] = [];
    while (ended.runs.length > this.#most.runs || (ended.bytes > this.#most.bytes && ended.runs.length > 1)) {
      const oldest = ended.runs.shift()!;
      ended.bytes -= oldest.bytes;
      this.#leave(oldest, begun);
      dropped.push(oldest.run);
    }
    this.#dropValues(begun);
    return dropped;
  }

  /** It is deleted; so are its values that nobody else needs. */
  forget(run: RunId): void {
    for (const ended of this.#byCaller.values()) {
      const at = ended.runs.findIndex((one) => one.run === run);
      if (at < 0) continue;
      const [gone] = ended.runs.splice(at, 1);
      ended.bytes -= gone!.bytes;
      this.#leave(gone!, 0);
    }
  }

  /** A value is stored: whoever does that names it later. */
  touch(ref: string, begun: number): void {
    if (this.#unused.has(ref)) this.#unused.set(ref, begun);
  }

  #measure(run: RunId, { frames }: MemoryRunLog): EndedRun {
    const blobs = this.#blobs;
    const refs = blobs.size === 0 ? [] : namedValues(frames).filter((ref) => blobs.has(ref));
    for (const ref of refs) this.#users.set(ref, (this.#users.get(ref) ?? 0) + 1);
    const bytes = frames.reduce((sum, frame) => sum + frameBytes(frame), 0);
    return { run, refs, bytes: refs.reduce((sum, ref) => sum + (blobs.get(ref)?.length ?? 0), bytes) };
  }

  #leave({ refs }: EndedRun, begun: number): void {
    for (const ref of refs) {
      const left = (this.#users.get(ref) ?? 1) - 1;
      if (left > 0) this.#users.set(ref, left);
      else {
        this.#users.delete(ref);
        this.#unused.set(ref, begun);
      }
    }
  }

  #dropValues(begun: number): void {
    if (this.#unused.size === 0) return;
    const oldest = this.#runs.values().reduce((least, { owned, nth }) => (owned ? Math.min(least, nth) : least), begun);
    for (const [ref, mark] of this.#unused) {
      if (oldest < mark) continue;
      this.#unused.delete(ref);
      if (!this.#users.has(ref)) this.#blobs.delete(ref);
    }
  }
}

export const memoryStore = (most: Partial<EndedMax> = {}, now: () => number = Date.now): Store => {
  const runs = new PromptlyReleasingMap<RunId, MemoryRunLog>();
  const blobs = new Map<string, Uint8Array>();
  const ended = new EndedRuns({ ...endedMax, ...most }, runs, blobs);
  const workspaceLog: WorkspaceEntry[] = [];
  const signals = new MemorySignals();
  let begun = 0;
  const deletions = new MemoryDeletions({ runs, blobs, ended, signals, workspaceLog, now, nextPlace: () => begun++ });

  const onEnd = (run: RunId): void => {
    const log = runs.get(run);
    // Nothing was recorded: the id was only held, and what waits under it stays.
    if (log === undefined || log.frames.length === 0) {
      runs.delete(run);
      return;
    }
    for (const one of ended.add(run, log, begun)) dropRun(runs, signals, one);
  };

  const read = (run: RunId): readonly Frame[] => {
    const frames = runs.get(run)?.frames ?? [];
    if (frames.length === 0) throw deletions.unknownError(run);
    return frames.slice();
  };

  return {
    kind: 'memory',
    path: null,
    acquireRun(run) {
      if (!isName(run)) return Promise.reject(new CloisterError('name_invalid', run));
      if (deletions.tombstones.has(run)) return Promise.reject(deletedError(run));
      const existing = runs.get(run);
      if (existing?.owned === true) return Promise.reject(new CloisterError('run_owned', 'Owner: this process.'));
      const log = new MemoryRunLog(run, { frames: existing?.frames ?? [], nth: existing?.nth ?? begun++ }, onEnd);
      runs.set(run, log);
      return log;
    },
    read: async (run) => read(run),
    inspect: async (run) => ({ frames: read(run), problems: [] }),
    list: async (query) => listRuns(runs, query),
    // Nothing is derived here: the list is built from the frames themselves.
    rebuild: async () => 0,
    async putBlob(bytes) {
      const ref = sha256(bytes);
      ended.touch(ref, begun);
      deletions.loose.delete(ref);
      if (!blobs.has(ref)) blobs.set(ref, new Uint8Array(bytes));
      return ref;
    },
    async getBlob(ref) {
      const bytes = blobs.get(ref);
      if (bytes === undefined) throw new CloisterError('file_missing', ref);
      return new Uint8Array(bytes);
    },
    readWorkspaceLog: async () => workspaceLog.slice(),
    async appendRecord(record, after) {
      if (after !== undefined && after !== workspaceLog.length - 1) throw appendRefusal('moved');
      appendEntry(workspaceLog, now(), record);
      return workspaceLog.length - 1;
    },
    async hashPrefix(run, frames) {
      const log = runs.get(run);
      if (log === undefined || log.frames.length === 0) throw new CloisterError('run_unknown', run);
      return log.hashPrefix(frames);
    },
    ...deletions.lifeCycle,
    putSignal: (signal) => signals.put(signal),
    signals: (run) => signals.waiting(run),
    removeSignal: async (run, id) => signals.remove(run, id),
    watchSignals: (listener) => signals.listeners.add(listener),
    close: async () => signals.listeners.close(),
  };
};

/** Copied and frozen, as a store on disk would return it. */
const appendEntry = (log: WorkspaceEntry[], at: number, record: WorkspaceRecord): void =>
  void log.push(deepFreeze(JSON.parse(workspaceRecordBody(log.length, at, JSON.stringify(record))) as WorkspaceEntry));

type MemoryState = {
  readonly runs: Runs;
  readonly blobs: Map<string, Uint8Array>;
  readonly ended: EndedRuns;
  readonly signals: MemorySignals;
  readonly workspaceLog: WorkspaceEntry[];
  readonly now: () => number;
  /** In the order in which runs began. */
  readonly nextPlace: () => number;
};

const deletedError = (run: RunId): CloisterError => new CloisterError('run_exists', `Run ${run} was deleted.`);

class MemoryDeletions {
  readonly tombstones = new Map<RunId, Tombstone>();
  readonly loose = new Set<string>();
  readonly lifeCycle: StoreLifeCycle;
  readonly #state: MemoryState;
  readonly #pending = new Map<RunId, JsonObject>();

  constructor(state: MemoryState) {
    this.#state = state;
    const { runs } = state;
    this.lifeCycle = {
      deleteRuns: async (deletions, after) => this.#delete(deletions, after),
      pendingDeletions: async () => [...this.#pending].map(([run, cleanup]) => ({ run, cleanup })),
      finishDeletions: async (finished) => this.#finish(finished),
      tombstone: async (run) => this.tombstones.get(run) ?? null,
      readBodies: async (run) => {
        const log = runs.get(run);
        if (log === undefined || log.frames.length === 0) throw new CloisterError('run_unknown', run);
        return log.bodies();
      },
      importRun: async (bodies, record) => this.#import(bodies, record),
      runBytes: async () =>
        new Map(
          runs.entries().map(([run, log]) => [run, log.bodies().reduce((sum, body) => sum + utf8Bytes(body), 0)]),
        ),
      forkRecords: async () =>
        runs
          .entries()
          .flatMap(([, { frames }]) => frames.filter(({ record }) => record.type === 'fork'))
          .map((frame) => JSON.stringify(frame)),
      strayFolders: async () => [],
    };
  }

  #delete(deletions: readonly RunDeletion[], after: number | undefined): void {
    const { runs, blobs, ended, signals, workspaceLog, now } = this.#state;
    for (const { tombstone } of deletions) this.#check(tombstone);
    if (after !== undefined && after !== workspaceLog.length - 1) throw appendRefusal('moved');
    for (const { tombstone, cleanup, blobs: more = [] } of deletions) {
      const { run } = tombstone;
      appendEntry(workspaceLog, now(), { type: 'tombstone', tombstone });
      const text = runs.get(run)?.bodies().join('\n') ?? '';
      for (const ref of blobs.keys()) if (more.includes(ref) || text.includes(ref)) this.loose.add(ref);
      runs.delete(run);
      ended.forget(run);
      signals.forget(run);
      this.tombstones.set(run, tombstone);
      this.#pending.set(run, cleanup);
    }
  }

  unknownError(run: RunId): CloisterError {
    const tombstone = this.tombstones.get(run);
    return new CloisterError('run_unknown', tombstone === undefined ? run : describeTombstone(tombstone));
  }

  #check({ run, frames, head }: Tombstone): void {
    const log = this.#state.runs.get(run);
    if (log?.owned === true) throw changeError({ key: 0, refused: 'owned', run, owner: 'this process' });
    const length = log?.frames.length ?? 0;
    if (length === 0 && this.tombstones.has(run)) return;
    if (length !== frames || (length > 0 && log?.hashPrefix().hash !== head))
      throw changeError({ key: 0, refused: 'changed', run });
  }

  #finish(finished: readonly RunId[]): SpaceReport {
    const { runs, blobs } = this.#state;
    const all = runs.entries().map(([, log]) => log.bodies().join('\n'));
    const unused = [...this.loose].filter((ref) => !all.some((text) => text.includes(ref)));
    for (const ref of unused) blobs.delete(ref);
    this.loose.clear();
    for (const run of finished) this.#pending.delete(run);
    return { bytesBefore: 0, bytesAfter: 0, blobs: unused.length, isFinished: true };
  }

  #import(bodies: readonly string[], record: ImportRecord): void {
    checkImported(bodies, record);
    const { runs, ended, signals, workspaceLog, now, nextPlace } = this.#state;
    if (runs.get(record.run) !== undefined) throw changeError({ key: 0, refused: 'exists', run: record.run });
    appendEntry(workspaceLog, now(), { type: 'import', ...record });
    this.tombstones.delete(record.run);
    const [frames, nth] = [bodies.map((body) => JSON.parse(body) as Frame), nextPlace()];
    const log = new MemoryRunLog(record.run, { frames, nth }, () => undefined);
    log.owned = false;
    runs.set(record.run, log);
    for (const one of ended.add(record.run, log, nth + 1)) dropRun(runs, signals, one);
  }
}

class MemorySignals {
  readonly listeners = new SignalListeners(() => () => undefined);
  #waiting: readonly Signal[] = [];

  async put(given: Signal): Promise<boolean> {
    const signal = parseSignal(signalRow(given));
    const { run, id } = signal;
    const ofRun = this.#waiting.filter((one) => one.run === run);
    const decision = decideSignal({ count: ofRun.length, isKnown: ofRun.some((one) => one.id === id) });
    if (!isStored(decision, run)) return false;
    this.#waiting = [...this.#waiting, signal];
    queueMicrotask(() => this.listeners.notify());
    return true;
  }

  async waiting(run?: RunId): Promise<readonly Signal[]> {
    return run === undefined ? this.#waiting : this.#waiting.filter((one) => one.run === run);
  }

  remove(run: RunId, id: string): void {
    this.#waiting = this.#waiting.filter((one) => one.run !== run || one.id !== id);
  }

  forget(run: RunId): void {
    this.#waiting = this.#waiting.filter((one) => one.run !== run);
  }
}

/** Unless it was resumed. */
const dropRun = (runs: Runs, signals: MemorySignals, run: RunId): void => {
  if (runs.get(run)?.owned !== false) return;
  runs.delete(run);
  signals.forget(run);
};

/** A class to save memory: ten thousand of these can be in flight at once. */
class MemoryRunLog implements RunLog {
  readonly frames: Frame[];
  /** Its place in the order in which runs began. */
  readonly nth: number;
  readonly #run: RunId;
  readonly #onEnd: (run: RunId) => void;
  /** Chain hashes of the first frames, computed as far as requested. */
  #hashes: Hash[] | undefined;
  #facts: { readonly facts: RunFacts; readonly frames: number } | undefined;
  owned = true;
  constructor(run: RunId, { frames, nth }: Pick<MemoryRunLog, 'frames' | 'nth'>, onEnd: (run: RunId) => void) {
    this.#run = run;
    this.frames = frames;
    this.nth = nth;
    this.#onEnd = onEnd;
  }
  append(frame: Frame): void {
    this.frames.push(frame);
  }
  /** Uses the same hash chain as a store on disk. */
  hashPrefix(frames = this.frames.length): { readonly frames: number; readonly hash: Hash } {
    if (frames > this.frames.length || frames < 1) throw prefixLengthError(this.#run, this.frames.length, frames);
    const hashes = (this.#hashes ??= []);
    while (hashes.length < frames)
      hashes.push(recordHash(hashes.at(-1) ?? noTail.hash, JSON.stringify(this.frames[hashes.length])));
    return { frames, hash: hashes[frames - 1]! };
  }
  /** The frames as a store on disk would hold them. */
  bodies(): readonly string[] {
    return this.frames.map((frame) => JSON.stringify(frame));
  }
  /** Each frame is folded once, however often this is called. */
  facts(): RunFacts {
    const known = this.#facts ?? { facts: noFacts, frames: 0 };
    if (known.frames === this.frames.length) return known.facts;
    const facts = this.frames.slice(known.frames).reduce(foldFacts, known.facts);
    this.#facts = { facts, frames: this.frames.length };
    return facts;
  }
  durable(): undefined {
    return undefined;
  }
  close(): Promise<void> {
    if (!this.owned) return Promise.resolve();
    this.owned = false;
    this.#onEnd(this.#run);
    return Promise.resolve();
  }
}

/** Estimated from its texts, which are what can be large. What frames of several runs share, such as definitions, is not counted. */
const frameBytes = ({ record, contents = [] }: Frame): number => {
  let bytes = smallFrameBytes;
  for (const { content } of contents) bytes += 2 * content.length;
  if ('value' in record) bytes += valueBytes(record.value);
  if ('about' in record) bytes += valueBytes(record.about);
  if ('outcome' in record) bytes += valueBytes(record.outcome.output);
  return bytes;
};

const smallFrameBytes = 1_024;

const valueBytes = (value: unknown): number => {
  if (typeof value === 'string') return 2 * value.length;
  if (typeof value !== 'object' || value === null) return 8;
  let bytes = 64;
  for (const field of Object.values(value)) bytes += valueBytes(field);
  return bytes;
};

const namedValues = (frames: readonly Frame[]): readonly string[] => [
  ...new Set(frames.flatMap((frame) => JSON.stringify(frame).match(/[\da-f]{64}/gu) ?? [])),
];

/** Empty if no caller of a server requested it. */
const openedBy = (log: MemoryRunLog | undefined): string => {
  const record = log?.frames[0]?.record;
  return record?.type === 'open' ? (record.caller ?? '') : '';
};

type Runs = PromptlyReleasingMap<RunId, MemoryRunLog>;

const listRuns = (runs: Runs, query: RunQuery | undefined): readonly RunSummary[] => {
  const listed = namedRuns(runs, query)
    .filter(([, log]) => log.frames.length > 0)
    .map(([run, log]) => ({ run, log, ...log.facts() }))
    .sort((one, other) => one.log.nth - other.log.nth);
  return selectRuns(listed, query).map(({ run, log }) => summariseRun(run, log));
};

/** One run is not searched for. */
const namedRuns = (runs: Runs, query: RunQuery | undefined): readonly (readonly [RunId, MemoryRunLog])[] => {
  const [run, ...others] = query !== undefined && 'runs' in query ? query.runs : [];
  if (run === undefined || others.length > 0) return runs.entries();
  const log = runs.get(run);
  return log === undefined ? [] : [[run, log]];
};

const summariseRun = (run: RunId, log: MemoryRunLog): RunSummary => {
  const facts = log.facts();
  const openState = log.owned ? 'running' : 'interrupted';
  const state = facts.endedAt === null ? openState : 'ended';
  return { run, ...facts, state, owner: state === 'running' ? 'this process' : null };
};
