// A store in memory: frames are kept by reference and nothing is copied.
import { CloisterError, PromptlyReleasingMap, isName, sha256 } from '#base';
import type { RunId } from '#base';
import type { Frame, RunQuery, RunSummary, Store, WorkspaceEntry } from '#contracts';
import { EndedRuns, endedMax } from './ended-runs.ts';
import type { EndedMax } from './ended-runs.ts';
import { FrameFollowers } from './frame-followers.ts';
import { appendEntry, deletedError, MemoryDeletions } from './memory-deletions.ts';
import { MemoryRunLog } from './memory-run-log.ts';
import { memoryShared } from './memory-shared.ts';
import type { MemoryRuns } from './memory-run-log.ts';
import { dropRun, MemorySignals } from './memory-signals.ts';
import { selectRuns } from './run-facts.ts';
import { appendRefusal } from './workspace-log.ts';

export const memoryStore = (most: Partial<EndedMax> = {}, now: () => number = Date.now): Store => {
  const runs = new PromptlyReleasingMap<RunId, MemoryRunLog>();
  const blobs = new Map<string, Uint8Array>();
  const ended = new EndedRuns({ ...endedMax, ...most }, runs, blobs);
  const workspaceLog: WorkspaceEntry[] = [];
  const signals = new MemorySignals();
  let begun = 0;
  const followers = memoryFollowers((run) => read(run));
  const onDelete = (run: RunId): void => followers.wake(run);
  const nextPlace = (): number => begun++;
  const deletions = new MemoryDeletions({ runs, blobs, ended, signals, workspaceLog, now, nextPlace, onDelete });

  const onEnd = (run: RunId): void => {
    const log = runs.get(run);
    // Nothing was recorded: the id was only held, and what waits under it stays.
    if (log === undefined || log.frames.length === 0) {
      runs.delete(run);
      return;
    }
    for (const one of ended.add(run, log, begun)) dropRun(runs, signals, one);
  };

  const hooks = { onEnd, onAppend: (run: RunId) => followers.wake(run) };

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
      const log = new MemoryRunLog(run, { frames: existing?.frames ?? [], nth: existing?.nth ?? begun++ }, hooks);
      runs.set(run, log);
      return log;
    },
    read: async (run) => read(run),
    ...intactPages(read),
    list: async (query) => listRuns(runs, query),
    // Nothing is derived here: the list is built from the frames themselves.
    rebuild: async () => ({ runs: 0, listed: [], files: 0, skipped: [] }),
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
    ...memoryWorkspaceLog(workspaceLog, now),
    async hashPrefix(run, frames) {
      const log = runs.get(run);
      if (log === undefined || log.frames.length === 0) throw new CloisterError('run_unknown', run);
      return log.hashPrefix(frames);
    },
    ...deletions.lifeCycle,
    ...signals.store,
    ...memoryShared(),
    ...onlyProcess,
    follow: followers.follow,
    async close() {
      signals.listeners.close();
      followers.close();
    },
  };
};

const memoryWorkspaceLog = (
  log: WorkspaceEntry[],
  now: () => number,
): Pick<Store, 'readWorkspaceLog' | 'appendRecord'> => ({
  readWorkspaceLog: async () => log.slice(),
  async appendRecord(record, after) {
    if (after !== undefined && after !== log.length - 1) throw appendRefusal('moved');
    appendEntry(log, now(), record);
    return log.length - 1;
  },
});

/** Whoever appends wakes them. */
const memoryFollowers = (read: (run: RunId) => readonly Frame[]): FrameFollowers =>
  new FrameFollowers(
    () => () => undefined,
    (run, from) => {
      let next = from;
      return async () => {
        const found = read(run).slice(next);
        next += found.length;
        return found;
      };
    },
  );

/** No other process has this store. */
const onlyProcess: Pick<Store, 'instance' | 'isLive'> = {
  instance: 'this process',
  isLive: async (instance) => instance === onlyProcess.instance,
};

/** Nothing is damaged in memory, and a log is there as a whole. */
const intactPages = (read: (run: RunId) => readonly Frame[]): Pick<Store, 'inspect' | 'pages'> => ({
  inspect: async (run) => ({ frames: read(run), problems: [] }),
  async *pages(run) {
    yield { frames: read(run), problems: [] };
  },
});

const listRuns = (runs: MemoryRuns, query: RunQuery | undefined): readonly RunSummary[] => {
  const listed = namedRuns(runs, query)
    .filter(([, log]) => log.frames.length > 0)
    .map(([run, log]) => ({ run, log, ...log.facts() }))
    .sort((one, other) => one.log.nth - other.log.nth);
  return selectRuns(listed, query).map(({ run, log }) => summariseRun(run, log));
};

/** One run is not searched for. */
const namedRuns = (runs: MemoryRuns, query: RunQuery | undefined): readonly (readonly [RunId, MemoryRunLog])[] => {
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
