// Deletions and imports of a store in memory.
import { CloisterError, deepFreeze, utf8Bytes } from '#base';
import type { JsonObject, RunId } from '#base';
import type {
  Frame,
  ImportRecord,
  RunDeletion,
  SpaceReport,
  StoreLifeCycle,
  Tombstone,
  WorkspaceEntry,
  WorkspaceRecord,
} from '#contracts';
import { describeTombstone } from './describe-tombstone.ts';
import type { EndedRuns } from './ended-runs.ts';
import { changeError, checkImported } from './life-cycle.ts';
import { MemoryRunLog } from './memory-run-log.ts';
import type { MemoryRuns } from './memory-run-log.ts';
import { dropRun } from './memory-signals.ts';
import type { MemorySignals } from './memory-signals.ts';
import { appendRefusal, workspaceRecordBody } from './workspace-log.ts';

/** Copied and frozen, as a store on disk would return it. */
export const appendEntry = (log: WorkspaceEntry[], at: number, record: WorkspaceRecord): void =>
  void log.push(deepFreeze(JSON.parse(workspaceRecordBody(log.length, at, JSON.stringify(record))) as WorkspaceEntry));

type MemoryState = {
  readonly runs: MemoryRuns;
  readonly blobs: Map<string, Uint8Array>;
  readonly ended: EndedRuns;
  readonly signals: MemorySignals;
  readonly workspaceLog: WorkspaceEntry[];
  readonly now: () => number;
  /** In the order in which runs began. */
  readonly nextPlace: () => number;
  readonly onDelete: (run: RunId) => void;
};

export const deletedError = (run: RunId): CloisterError => new CloisterError('run_exists', `Run ${run} was deleted.`);

export class MemoryDeletions {
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
      leftovers: async () => [],
    };
  }

  #delete(deletions: readonly RunDeletion[], after: number | undefined): void {
    const { runs, blobs, ended, signals, workspaceLog, now, onDelete } = this.#state;
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
      onDelete(run);
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
    const log = new MemoryRunLog(
      record.run,
      { frames, nth },
      {
        onAppend: () => undefined,
        onEnd: () => undefined,
      },
    );
    log.owned = false;
    runs.set(record.run, log);
    for (const one of ended.add(record.run, log, nth + 1)) dropRun(runs, signals, one);
  }
}
