// Translates any failure of a store into an error of the catalogue.
import { CloisterError } from '#base';

export const storeError = (error: unknown): CloisterError => {
  if (error instanceof CloisterError) return error;
  const { message, errcode } = error as Error & { errcode?: number };
  // The low byte of SQLite's extended codes: 1 means a statement does not match the tables, and ours match the tables we
  // create; 5 busy, 6 locked, 11 corrupt, 26 not a database.
  const code = (errcode ?? 0) & 0xff;
  if (code === 1 || code === 11 || code === 26)
    return new CloisterError('store_damaged', `cloister.db: ${message}`, { cause: error });
  if (code === 5 || code === 6) return new CloisterError('store_busy', message, { cause: error });
  return new CloisterError('store_failed', message, { cause: error });
};
