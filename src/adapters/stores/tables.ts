// Applies one batch to the tables, inside the caller's transaction.
import type { RunId } from '#base';
import { appendFrame } from './append-frame.ts';
import type { AppendedFrames } from './append-frame.ts';
import { deleteRuns, importRun } from './delete-runs.ts';
import type { DeletionTables } from './delete-runs.ts';
import { appendWorkspaceRecord, workspaceLogName } from './workspace-log.ts';
import type { WorkspaceLogTable } from './workspace-log.ts';
import { noTail } from './chain.ts';
import type { Tail } from './chain.ts';
import type { Ack, ChangeAck, Item, SharedAck, SignalAck, WorkspaceRecordAck } from './messages.ts';
import type { RunOwner, Owners } from './processes.ts';
import type { RunFacts } from './run-facts.ts';
import { addSignal } from './signals.ts';
import type { SignalTable } from './signals.ts';
import { writeShared } from './shared-values.ts';
import type { SharedTable } from './shared-values.ts';

/** Reads see the writes of the same transaction. */
export type Tables = WorkspaceLogTable &
  SignalTable &
  SharedTable &
  DeletionTables & {
    /** The last frame of a run, read from the table; undefined when it has none. */
    tail(run: RunId): Tail | undefined;
    insertFrame(run: RunId, no: number, body: string, hash: string): void;
    /** Stored once; a damaged stored blob is repaired. */
    putBlob(ref: string, bytes: Uint8Array<ArrayBuffer>): void;
    owner(run: RunId): EpochOwner | undefined;
    /** Replaces the previous owner. */
    setOwner(run: RunId, owner: EpochOwner): void;
    /** A number that was never given before. */
    nextEpoch(): number;
    /** A run is taken from an owner that may be alive, and is to hear of it. Absent: that cannot happen. */
    noteTakeOver?(): void;
    /** Only if this instance owns the run. */
    release(run: RunId, instance: string): void;
    /** Releases every run of this instance. */
    releaseAll(instance: string): void;
    /** Merges facts from new frames into the list of runs (see `addFacts`), and stores the new end of the log. */
    updateRun(run: RunId, facts: RunFacts, end: Tail): void;
  };

/** Each time that a run is acquired it gets a higher epoch, so that frames of a former owner are recognised. */
export type EpochOwner = RunOwner & { readonly epoch: number };

export type AppliedBatch = AppendedFrames & {
  readonly owned: { readonly run: RunId; readonly epoch: number }[];
  readonly released: RunId[];
  readonly refused: Ack['refused'][number][];
  readonly broken: Ack['broken'][number][];
  readonly records: WorkspaceRecordAck[];
  readonly signals: SignalAck[];
  readonly shared: SharedAck[];
  readonly changes: ChangeAck[];
};

type CommittedState = {
  /** Tails of runs as last committed; others are read from the tables. */
  readonly tails: ReadonlyMap<RunId, Tail>;
  readonly self: RunOwner;
  readonly owners: Owners;
  /** The newest frame of a run that was acknowledged according to the heads files, if any. */
  readonly acknowledgedTail?: (run: RunId) => Tail | undefined;
};

export const applyItems = (tables: Tables, items: readonly Item[], state: CommittedState): AppliedBatch => {
  const applied = newBatchResult();
  const broken = new Set<RunId>();
  const checked = new Set<string>();
  for (const item of items) {
    switch (item.do) {
      case 'own':
        acquireRun(tables, item, state, applied);
        break;
      case 'confirm':
      case 'frame': {
        if (broken.has(item.run)) break;
        const lost = lostProblem(tables, item, state.owners, checked);
        // probe: epoch-checked
        if (lost !== undefined) {
          broken.add(item.run);
          applied.broken.push({ run: item.run, detail: lost, isLost: true });
          break;
        }
        if (item.do === 'confirm') break;
        const detail = appendNext(tables, item, state, applied);
        if (detail === undefined) break;
        broken.add(item.run);
        applied.broken.push({ run: item.run, detail });
        break;
      }
      case 'blob':
        tables.putBlob(item.ref, item.bytes);
        break;
      case 'release':
        tables.release(item.run, state.self.instance);
        applied.released.push(item.run);
        break;
      case 'record': {
        const { end, ...ack } = appendWorkspaceRecord(
          tables,
          item,
          applied.tails.get(workspaceLogName) ?? state.acknowledgedTail?.(workspaceLogName),
        );
        applied.records.push(ack);
        if (end !== undefined) applied.tails.set(workspaceLogName, end);
        break;
      }
      case 'signal':
        applied.signals.push(addSignal(tables, item));
        break;
      case 'remove-signal':
        tables.removeSignal(item.run, item.id);
        break;
      case 'share':
        applied.shared.push(writeShared(tables, item));
        break;
      case 'delete':
        applied.changes.push(deleteRuns(tables, item, { ...state, applied }));
        break;
      case 'import':
        applied.changes.push(importRun(tables, item, { ...state, applied }));
        break;
    }
  }
  updateRuns(tables, applied);
  return applied;
};

const newBatchResult = (): AppliedBatch => ({
  tails: new Map(),
  facts: new Map(),
  owned: [],
  released: [],
  refused: [],
  broken: [],
  records: [],
  signals: [],
  shared: [],
  changes: [],
});

type OwnItem = Extract<Item, { do: 'own' }>;

const acquireRun = (
  tables: Tables,
  { run, takeOver = false }: OwnItem,
  { self, owners }: CommittedState,
  applied: AppliedBatch,
): void => {
  // probe: own-not-deleted
  if (tables.recordOfDeletion(run) !== undefined) {
    applied.refused.push({ run, owner: '', isDeleted: true });
    return;
  }
  const owner = tables.owner(run);
  const mayTakeOver = takeOver && owner !== undefined && owners.isRemote?.(owner) === true;
  // A row of this same store is left over from a failed release: the caller knows that it does not own the run.
  // probe: run-owner-lives
  if (owner !== undefined && !mayTakeOver && owner.instance !== self.instance && owners.isAlive(owner)) {
    applied.refused.push({ run, owner: owners.describe(owner) });
    return;
  }
  if (mayTakeOver) tables.noteTakeOver?.();
  const epoch = tables.nextEpoch();
  tables.setOwner(run, { ...self, epoch });
  applied.owned.push({ run, epoch });
};

type FrameItem = Extract<Item, { do: 'frame' }>;
type EpochItem = FrameItem | Extract<Item, { do: 'confirm' }>;

/**
 * Why this process may not append to a run: somebody else has acquired it since. Checked in the transaction that appends, once for
 * each run; `checked` are those that may.
 */
const lostProblem = (
  tables: Tables,
  { run, epoch }: EpochItem,
  owners: Owners,
  checked: Set<string>,
): string | undefined => {
  const key = `${run} ${epoch}`;
  if (checked.has(key)) return undefined;
  const owner = tables.owner(run);
  if (owner?.epoch === epoch) {
    checked.add(key);
    return undefined;
  }
  return lostText(run, owner === undefined ? undefined : owners.describe(owner));
};

/** `owner`: a description; undefined if nobody owns the run. */
export const lostText = (run: RunId, owner: string | undefined): string =>
  owner === undefined
    ? `Nobody owns run ${run} any more: it was taken over and released since, or its database was replaced.`
    : `The owner of run ${run} is ${owner}.`;

export const gapText = (run: RunId, no: number, last: number): string =>
  `Frame ${no} of run ${run} does not follow frame ${last}, the last one stored.`;

/** Appends a frame, or returns why it cannot come next. */
const appendNext = (
  tables: Tables,
  item: FrameItem,
  { tails, acknowledgedTail }: CommittedState,
  applied: AppliedBatch,
): string | undefined => {
  const cached = applied.tails.get(item.run) ?? tails.get(item.run);
  const tail = cached ?? tables.tail(item.run) ?? noTail;
  const problem = sequenceProblem(item, tail, cached === undefined ? acknowledgedTail?.(item.run) : undefined);
  // probe: frame-follows
  if (problem !== undefined) return problem;
  appendFrame(tables, item, tail, applied);
  return undefined;
};

/** Why a frame cannot come next. A run that has lost its end is not continued as if the lost frames had never existed. */
const sequenceProblem = ({ run, no }: FrameItem, tail: Tail, acknowledged: Tail | undefined): string | undefined => {
  if (no !== tail.no + 1) return gapText(run, no, tail.no);
  if (
    acknowledged === undefined ||
    acknowledged.no < tail.no ||
    (acknowledged.no === tail.no && acknowledged.hash === tail.hash)
  )
    return undefined;
  return `Frame ${no} of run ${run} does not follow frame ${acknowledged.no}, the last one acknowledged.`;
};

const updateRuns = (tables: Tables, applied: AppliedBatch): void => {
  for (const [run, more] of applied.facts) tables.updateRun(run, more, applied.tails.get(run) ?? noTail);
};
