// The text of records as they are stored: what is packed is not found by searching the bytes of a database.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { unpackRecord } from '../src/adapters/stores/packed-records.ts';

/** All records of all runs in a workspace. */
export const storedRecords = (workspace: string): string => {
  const path = join(workspace, 'cloister.db');
  if (!existsSync(path)) return '';
  using database = new DatabaseSync(path, { readOnly: true });
  const rows = database.prepare('SELECT body FROM frames ORDER BY run, no').all();
  return rows.map(({ body }) => String(unpackRecord(body))).join('\n');
};
