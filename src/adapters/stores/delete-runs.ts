// Deletes runs and takes them in, inside the transaction of a batch.
//
//   deletion-in-one-commit. The records of a run and its row go in the commit that appends its tombstone to the workspace log. What
//       is outside the tables goes later; until then `deleted` says what is left to do.
//   deletion-names-the-log. A tombstone is written only for exactly the log that it names.
//   deletion-all-or-none. Runs that are deleted together are all deleted, or none is.
import type { RunId } from '#base';
import { appendFrame } from './append-frame.ts';
import type { AppendedFrames, FrameTable } from './append-frame.ts';
import { noTail } from './chain.ts';
import type { Tail } from './chain.ts';
import type { ChangeAck, DeleteItem, ImportItem } from './messages.ts';
import type { Owners, RunOwner } from './processes.ts';
import { appendWorkspaceRecord, workspaceLogName } from './workspace-log.ts';
import type { WorkspaceLogTable } from './workspace-log.ts';

export type DeletionTables = {
  /** The number of the record that says that the run was deleted; undefined if it is not. */
  recordOfDeletion(run: RunId): number | undefined;
  /** Removes the run's frames, its row, its owner and its signals, and notes the deletion. Its blobs become loose. */
  deleteRun(run: RunId, no: number, pending: string): void;
  /** These blobs go when it turns out that no run refers to them. */
  loosenBlobs(refs: readonly string[]): void;
  /** The run is no longer deleted. */
  undeleteRun(run: RunId): void;
};

type RunTables = DeletionTables &
  WorkspaceLogTable &
  FrameTable & {
    tail(run: RunId): Tail | undefined;
    owner(run: RunId): RunOwner | undefined;
  };

type Context = {
  readonly owners: Owners;
  readonly acknowledgedTail?: (run: RunId) => Tail | undefined;
  readonly applied: AppendedFrames & { readonly released: RunId[] };
};

export const deleteRuns = (tables: RunTables, item: DeleteItem, context: Context): ChangeAck => {
  const { key, at } = item;
  const refusal = item.runs.map((one) => deletionRefusal(tables, one, context)).find((one) => one !== undefined);
  if (refusal !== undefined) return { key, ...refusal };
  let { after } = item;
  for (const { run, record, pending, blobs } of item.runs) {
    // probe: deletion-appends-tombstone
    const ack = appendRecord(tables, { key, at, record, ...(after === undefined ? {} : { after }) }, context);
    // Only the first can be refused, before anything was changed.
    if ('refused' in ack) return ack;
    after = ack.no;
    tables.deleteRun(run, ack.no, pending);
    tables.loosenBlobs(blobs);
    context.applied.released.push(run);
  }
  return { key, refused: null };
};

type Refusal<A = ChangeAck> = A extends ChangeAck ? Omit<A, 'key'> : never;

const deletionRefusal = (
  tables: RunTables,
  { run, frames, head }: DeleteItem['runs'][number],
  { owners, applied }: Context,
): Refusal | undefined => {
  const owner = tables.owner(run);
  if (owner !== undefined && owners.isAlive(owner)) return { refused: 'owned', run, owner: owners.describe(owner) };
  const tail: Tail = applied.tails.get(run) ?? tables.tail(run) ?? noTail;
  // Of an archived run nothing is left here; its tombstone is replaced.
  if (tail.no === noTail.no && tables.recordOfDeletion(run) !== undefined) return undefined;
  const isSame = tail.no === frames - 1 && (frames === 0 || tail.hash === head);
  return isSame ? undefined : { refused: 'changed', run };
};

export const importRun = (tables: RunTables, item: ImportItem, context: Context): ChangeAck => {
  const { key, at, run, bodies, record } = item;
  if (tables.tail(run) !== undefined || tables.owner(run) !== undefined) return { key, refused: 'exists', run };
  const ack = appendRecord(tables, { key, at, record }, context);
  if ('refused' in ack) return ack;
  tables.undeleteRun(run);
  for (const [no, body] of bodies.entries()) {
    const tail = context.applied.tails.get(run) ?? noTail;
    appendFrame(tables, { run, no, body, json: JSON.stringify(JSON.parse(body)) }, tail, context.applied);
  }
  // Nobody owns it.
  context.applied.released.push(run);
  return { key, refused: null };
};

type NewRecord = { readonly key: number; readonly at: number; readonly record: string; readonly after?: number };

const appendRecord = (tables: RunTables, record: NewRecord, { acknowledgedTail, applied }: Context) => {
  const acknowledged = applied.tails.get(workspaceLogName) ?? acknowledgedTail?.(workspaceLogName);
  const { end, ...ack } = appendWorkspaceRecord(tables, { do: 'record', ...record }, acknowledged);
  if (end !== undefined) applied.tails.set(workspaceLogName, end);
  return ack;
};
