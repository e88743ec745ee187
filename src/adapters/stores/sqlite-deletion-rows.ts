// Reads what the database says about deleted runs.
import type { DatabaseSync } from 'node:sqlite';
import type { RunId } from '#base';
import { hasDeletions } from './database.ts';

export type DeletionRows = {
  /** The record of the workspace log that says that a run was deleted, as stored; undefined if it was not. */
  deletion(run: RunId): string | undefined;
  pendingDeletions(): readonly { readonly run: RunId; readonly pending: string }[];
};

export const deletionRows = (reading: <T>(none: () => T, look: (database: DatabaseSync) => T) => T): DeletionRows => ({
  deletion: (run) => reading(() => undefined, readDeletion(run)),
  pendingDeletions: () => reading(() => [], readPendingDeletions),
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
