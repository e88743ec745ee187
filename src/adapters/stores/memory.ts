// Frames by reference, nothing copied, nothing on disk. It forgets only when the process ends.
import { CloisterError, isName, sha256 } from '#base';
import type { RunId } from '#base';
import type { Frame, RunLog, RunSummary, Store } from '#contracts';
import { foldFacts, noFacts } from './run-facts.ts';

export const memoryStore = (): Store => {
  const runs = new Map<RunId, MemoryRunLog>();
  const blobs = new Map<string, Uint8Array>();

  const read = (run: RunId): readonly Frame[] => {
    const frames = runs.get(run)?.frames ?? [];
    if (frames.length === 0) throw new CloisterError('run_unknown', run);
    return frames.slice();
  };

  return {
    kind: 'memory',
    path: null,
    own(run) {
      if (!isName(run)) return Promise.reject(new CloisterError('name_invalid', run));
      const kept = runs.get(run);
      if (kept?.owned === true) return Promise.reject(new CloisterError('run_owned', 'this process'));
      const log = new MemoryRunLog(kept?.frames ?? []);
      runs.set(run, log);
      return log;
    },
    read: async (run) => read(run),
    inspect: async (run) => ({ frames: read(run), problems: [] }),
    list: async () =>
      [...runs]
        .filter(([, log]) => log.frames.length > 0)
        .map(([run, log]) => summaryOf(run, log))
        .toReversed()
        .sort((one, other) => other.startedAt - one.startedAt),
    async keep(bytes) {
      const ref = sha256(bytes);
      if (!blobs.has(ref)) blobs.set(ref, new Uint8Array(bytes));
      return ref;
    },
    async blob(ref) {
      const bytes = blobs.get(ref);
      if (bytes === undefined) throw new CloisterError('file_missing', ref);
      return new Uint8Array(bytes);
    },
    close: async () => {},
  };
};

/** A class for its weight: ten thousand of these are in flight at once. */
class MemoryRunLog implements RunLog {
  readonly frames: Frame[];
  owned = true;
  constructor(frames: Frame[]) {
    this.frames = frames;
  }
  append(frame: Frame): void {
    this.frames.push(frame);
  }
  durable(): undefined {
    return undefined;
  }
  close(): Promise<void> {
    this.owned = false;
    return Promise.resolve();
  }
}

const summaryOf = (run: RunId, log: MemoryRunLog): RunSummary => {
  const facts = log.frames.reduce(foldFacts, noFacts);
  const living = log.owned ? 'running' : 'interrupted';
  const state = facts.endedAt === null ? living : 'ended';
  return { run, ...facts, state, owner: state === 'running' ? 'this process' : null };
};
