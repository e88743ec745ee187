// Reads what the database says about deleted runs, and how large runs are.
import type { DatabaseSync } from 'node:sqlite';
import type { RunId } from '#base';
import { hasDeletions } from './database.ts';

export type DeletionRows = {
  /** The record of the workspace log that says that a run was deleted, as stored; undefined if it was not. */
  deletion(run: RunId): string | undefined;
  pendingDeletions(): readonly { readonly run: RunId; readonly pending: string }[];
  runBytes(): ReadonlyMap<RunId, number>;
};

export const deletionRows = (reading: <T>(none: () => T, look: (database: DatabaseSync) => T) => T): DeletionRows => ({
  deletion: (run) => reading(() => undefined, readDeletion(run)),
  pendingDeletions: () => reading(() => [], readPendingDeletions),
  runBytes: () => reading((): ReadonlyMap<RunId, number> => new Map(), readRunBytes),
});

/** Only what the workspace log says counts. */
const readDeletion =
  (run: RunId) =>
  (database: DatabaseSync): string | undefined => {
    if (!hasDeletions(database)) return undefined;
    const query = 'SELECT body FROM deleted JOIN book USING (no) WHERE run = ?';
    return database.prepare(query).get(run)?.['body'] as string | undefined;
  };

const readPendingDeletions = (database: DatabaseSync): readonly { readonly run: RunId; readonly pending: string }[] =>
  hasDeletions(database)
    ? (database.prepare('SELECT run, pending FROM deleted WHERE pending IS NOT NULL ORDER BY no').all() as never)
    : [];

const readRunBytes = (database: DatabaseSync): ReadonlyMap<RunId, number> =>
  new Map(
    database
      .prepare('SELECT run, sum(octet_length(body)) AS bytes FROM frames GROUP BY run')
      .all()
      .map(({ run, bytes }) => [run as RunId, Number(bytes)]),
  );
