// Translates any failure of a store into an error of the catalogue.
import { CloisterError } from '#base';

/** `code`: what the failure means where nothing else is known about it. */
export const storeError = (
  error: unknown,
  code: 'store_failed' | 'store_unreadable' = 'store_failed',
): CloisterError => {
  if (error instanceof CloisterError) return error;
  const { message, errcode } = error as Error & { errcode?: number };
  // The low byte of SQLite's extended codes: 1 means a statement does not match the tables, and ours match the tables we
  // create; 5 busy, 6 locked, 11 corrupt, 26 not a database.
  const kind = (errcode ?? 0) & 0xff;
  if (kind === 1 || kind === 11 || kind === 26)
    return new CloisterError('store_damaged', `cloister.db: ${message}`, { cause: error });
  if (isBusy(error)) return new CloisterError('store_busy', message, { cause: error });
  // 13 is SQLite's code for a full disk.
  if (kind === 13) return new CloisterError('store_failed', diskFullText, { cause: error });
  return new CloisterError(code, message, { cause: error });
};

/** SQLite says that another connection is writing. */
export const isBusy = (error: unknown): boolean => {
  const kind = ((error as { errcode?: number }).errcode ?? 0) & 0xff;
  return kind === 5 || kind === 6;
};

const diskFullText = 'The disk is full. Free some space; nothing that was stored is lost.';
