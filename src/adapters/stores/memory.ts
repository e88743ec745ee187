// Frames by reference, nothing copied, nothing on disk. The oldest runs that have ended are forgotten past a number.
import { CloisterError, deepFreeze, PromptlyReleasingMap, isName, sha256 } from '#base';
import type { Hash, RunId } from '#base';
import type { WorkspaceEntry, Frame, RunLog, RunSummary, Store, RunQuery } from '#contracts';
import { workspaceRecordBody, appendRefusal } from './workspace-log.ts';
import { noTail, recordHash } from './chain.ts';
import { noSuchCut } from './log-reader.ts';
import { foldFacts, noFacts } from './run-facts.ts';
import type { RunFacts } from './run-facts.ts';
import { matchesQuery, queryLimit } from './run-query.ts';

/** How many ended runs are kept. */
const endedMax = 1_000;

export const memoryStore = (keptMax = endedMax, now: () => number = Date.now): Store => {
  const runs = new PromptlyReleasingMap<RunId, MemoryRunLog>();
  const blobs = new Map<string, Uint8Array>();
  const ended: RunId[] = [];
  const book: WorkspaceEntry[] = [];

  const onEnd = (run: RunId): void => {
    ended.push(run);
    if (ended.length <= keptMax) return;
    const oldest = ended.shift()!;
    if (runs.get(oldest)?.owned === false) runs.delete(oldest);
  };

  const read = (run: RunId): readonly Frame[] => {
    const frames = runs.get(run)?.frames ?? [];
    if (frames.length === 0) throw new CloisterError('run_unknown', run);
    return frames.slice();
  };

  return {
    kind: 'memory',
    path: null,
    acquireRun(run) {
      if (!isName(run)) return Promise.reject(new CloisterError('name_invalid', run));
      const kept = runs.get(run);
      if (kept?.owned === true) return Promise.reject(new CloisterError('run_owned', 'this process'));
      const log = new MemoryRunLog(run, kept?.frames ?? [], onEnd);
      runs.set(run, log);
      return log;
    },
    read: async (run) => read(run),
    inspect: async (run) => ({ frames: read(run), problems: [] }),
    list: async (which) =>
      chosen(runs, which)
        .filter(([, log]) => log.frames.length > 0)
        .map(([run, log]) => summaryOf(run, log))
        .toReversed()
        .sort((one, other) => other.startedAt - one.startedAt)
        .slice(0, queryLimit(which)),
    // Nothing is derived here: the list is made of the frames themselves.
    rebuild: async () => 0,
    async putBlob(bytes) {
      const ref = sha256(bytes);
      if (!blobs.has(ref)) blobs.set(ref, new Uint8Array(bytes));
      return ref;
    },
    async getBlob(ref) {
      const bytes = blobs.get(ref);
      if (bytes === undefined) throw new CloisterError('file_missing', ref);
      return new Uint8Array(bytes);
    },
    readWorkspaceLog: async () => book.slice(),
    async appendRecord(record, after) {
      if (after !== undefined && after !== book.length - 1) throw appendRefusal('moved');
      // As others keep it: nobody can change it afterwards.
      book.push(
        deepFreeze(JSON.parse(workspaceRecordBody(book.length, now(), JSON.stringify(record))) as WorkspaceEntry),
      );
      return book.length - 1;
    },
    async hashPrefix(run, frames) {
      const log = runs.get(run);
      if (log === undefined || log.frames.length === 0) throw new CloisterError('run_unknown', run);
      return log.cut(frames);
    },
    close: async () => {},
  };
};

/** A class for its weight: ten thousand of these are in flight at once. */
class MemoryRunLog implements RunLog {
  readonly frames: Frame[];
  readonly #run: RunId;
  readonly #onEnd: (run: RunId) => void;
  /** Of its first frames, as far as somebody asked. */
  #hashes: Hash[] | undefined;
  #facts: { readonly facts: RunFacts; readonly frames: number } | undefined;
  owned = true;
  constructor(run: RunId, frames: Frame[], onEnd: (run: RunId) => void) {
    this.#run = run;
    this.frames = frames;
    this.#onEnd = onEnd;
  }
  append(frame: Frame): void {
    this.frames.push(frame);
  }
  /** The chain that a store on disk keeps. */
  cut(frames = this.frames.length): { readonly frames: number; readonly hash: Hash } {
    if (frames > this.frames.length || frames < 1) throw noSuchCut(this.#run, this.frames.length, frames);
    const hashes = (this.#hashes ??= []);
    while (hashes.length < frames)
      hashes.push(recordHash(hashes.at(-1) ?? noTail.hash, JSON.stringify(this.frames[hashes.length])));
    return { frames, hash: hashes[frames - 1]! };
  }
  /** A frame is looked at once, however often somebody asks. */
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

type Runs = PromptlyReleasingMap<RunId, MemoryRunLog>;

const chosen = (runs: Runs, which: RunQuery | undefined): readonly (readonly [RunId, MemoryRunLog])[] => {
  if (which === undefined) return runs.entries();
  if ('caller' in which) return runs.entries().filter(([run, log]) => matchesQuery(which, run, log.facts()));
  const asked = new Set(which.runs);
  if (asked.size > 1) return runs.entries().filter(([run]) => asked.has(run));
  return [...asked].flatMap((run) => {
    const log = runs.get(run);
    return log === undefined ? [] : [[run, log]];
  });
};

const summaryOf = (run: RunId, log: MemoryRunLog): RunSummary => {
  const facts = log.facts();
  const living = log.owned ? 'running' : 'interrupted';
  const state = facts.endedAt === null ? living : 'ended';
  return { run, ...facts, state, owner: state === 'running' ? 'this process' : null };
};
