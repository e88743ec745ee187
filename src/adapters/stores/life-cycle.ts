// What a store does with whole runs, over the thread that writes and the rows that anybody reads.
import { CloisterError } from '#base';
import type { Hash, JsonObject, RunId } from '#base';
import type { Leftover, SpaceReport, StoreLifeCycle, WorkspaceRecord } from '#contracts';
import { checkChain, noTail, recordHash } from './chain.ts';
import { joinPages } from './log-reader.ts';
import type { StoreReader } from './log-reader.ts';
import type { Ack, ChangeAck, DeleteItem } from './messages.ts';
import type { Writer } from './writer.ts';
import { appendRefusal } from './workspace-log.ts';

type MayWait<T> = T | Promise<T>;

/** What a disk does about deleted runs besides its tables. */
export type LifeCyclePorts = {
  /** Deletions that are not finished; `pending` is the JSON that was noted. */
  pending(): MayWait<readonly { readonly run: RunId; readonly pending: string }[]>;
  finish(runs: readonly RunId[], compact: boolean): Promise<SpaceReport>;
  /** The bodies of frames with a `fork` record, and perhaps others. */
  forkBodies(): Promise<readonly string[]>;
  runBytes(): MayWait<ReadonlyMap<RunId, number>>;
  strayFolders(): MayWait<readonly string[]>;
  leftovers(): Promise<readonly Leftover[]>;
};

type LifeCycle = {
  readonly writer: Writer;
  /** Throws once the store is closed. */
  readonly openReader: () => StoreReader;
  /** `now`: clock for records of the workspace log. */
  readonly ports: { readonly lifeCycle: LifeCyclePorts; now(): number };
  readonly pause: () => Promise<void>;
};

export const storeLifeCycle = ({ writer, openReader, ports: outer, pause }: LifeCycle): StoreLifeCycle => {
  const ports = outer.lifeCycle;
  let keys = 0;
  const commit = async (item: Parameters<Writer['add']>[0] & { readonly key: number }): Promise<void> => {
    const ack = await writer.add(item).done;
    const change = ack.changes?.find(({ key }) => key === item.key);
    if (ack.failure !== null || change === undefined) throw commitError(ack);
    if (change.refused !== null) throw changeError(change);
  };
  return {
    async deleteRuns(deletions, after) {
      openReader();
      if (deletions.length === 0) return;
      const runs = deletions.map(({ tombstone, cleanup, blobs = [] }): DeleteItem['runs'][number] => ({
        run: tombstone.run,
        frames: tombstone.frames,
        head: tombstone.head,
        record: JSON.stringify({ type: 'tombstone', tombstone } satisfies WorkspaceRecord),
        pending: JSON.stringify(cleanup),
        blobs,
      }));
      await commit({ do: 'delete', key: keys++, at: outer.now(), runs, ...(after === undefined ? {} : { after }) });
    },
    async pendingDeletions() {
      openReader();
      return (await ports.pending()).map(({ run, pending }) => ({ run, cleanup: parseCleanup(pending) }));
    },
    async finishDeletions(runs, { compact = false } = {}) {
      openReader();
      return ports.finish(runs, compact);
    },
    async tombstone(run) {
      return openReader().tombstone(run);
    },
    async readBodies(run) {
      const { frames, problems } = await joinPages(openReader().pages(run, pause));
      if (problems.length > 0) throw new CloisterError('store_damaged', problems.join('; '));
      // A record is written as JSON once, so its text follows from its value; the hash of the last one shows that it does.
      const bodies = frames.map((frame) => JSON.stringify(frame));
      const { hash } = await openReader().hashPrefix(run, bodies.length);
      if (headOf(bodies) === hash) return bodies;
      throw new CloisterError('store_damaged', `run ${run} has a record that is not written as this build writes it`);
    },
    async importRun(bodies, record) {
      openReader();
      checkImported(bodies, record);
      const { run } = record;
      const json = JSON.stringify({ type: 'import', ...record } satisfies WorkspaceRecord);
      await commit({ do: 'import', key: keys++, at: outer.now(), run, bodies, record: json });
    },
    async runBytes() {
      openReader();
      return ports.runBytes();
    },
    async forkRecords() {
      openReader();
      return ports.forkBodies();
    },
    async strayFolders() {
      openReader();
      return ports.strayFolders();
    },
    async leftovers() {
      openReader();
      return ports.leftovers();
    },
  };
};

/** The hash of the last record; that of no record for none. */
const headOf = (bodies: readonly string[]): Hash =>
  bodies.reduce<Hash>((before, body) => recordHash(before, body), noTail.hash as Hash);

/** Throws `archive_invalid`. */
export const checkImported = (
  bodies: readonly string[],
  { run, frames, head }: { readonly run: RunId; readonly frames: number; readonly head: Hash },
): void => {
  let hash: string = noTail.hash;
  const rows = bodies.map((body, no) => ({ no, body, hash: (hash = recordHash(hash, body)) }));
  const { problems } = checkChain(run, rows);
  const [problem] = problems;
  if (problem !== undefined) throw new CloisterError('archive_invalid', `${problem}.`);
  if (frames !== bodies.length || bodies.length === 0 || hash !== head)
    throw new CloisterError('archive_invalid', `Its ${bodies.length} records are not those of run ${run}.`);
};

const parseCleanup = (pending: string): JsonObject => {
  try {
    return JSON.parse(pending) as JsonObject;
  } catch {
    return {};
  }
};

export const changeError = (change: Exclude<ChangeAck, { refused: null }>): CloisterError => {
  switch (change.refused) {
    case 'moved':
    case 'lost':
      return appendRefusal(change.refused);
    case 'owned':
      return new CloisterError('run_owned', `Run ${change.run}. Owner: ${change.owner}.`);
    case 'changed':
      return new CloisterError('run_kept', `Run ${change.run} has changed meanwhile. Try again.`);
    case 'exists':
      return new CloisterError('run_exists', `Run ${change.run}.`);
  }
};

const commitError = ({ failure }: Ack): CloisterError =>
  new CloisterError(failure?.code ?? 'store_failed', failure?.detail ?? '');
