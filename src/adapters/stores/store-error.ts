// Translates any failure of a store into an error of the catalogue.
import { CloisterError } from '#base';

/** `code`: what the failure means where nothing else is known about it. */
export const storeError = (
  error: unknown,
  code: 'store_failed' | 'store_unreadable' = 'store_failed',
): CloisterError => {
  if (error instanceof CloisterError) return error;
  const { message } = error as Error;
  // 1 means a statement does not match the tables, and ours match the tables we create; 11 corrupt, 26 not a database.
  const kind = errorKind(error);
  if (kind === 1 || kind === 11 || kind === 26)
    return new CloisterError('store_damaged', `cloister.db: ${message}`, { cause: error });
  if (isBusy(error)) return new CloisterError('store_busy', message, { cause: error });
  if (isDiskFull(error)) return new CloisterError('store_failed', diskFullText, { cause: error });
  return new CloisterError(code, message, { cause: error });
};

/** SQLite says that another connection is writing: 5 busy, 6 locked. */
export const isBusy = (error: unknown): boolean => errorKind(error) === 5 || errorKind(error) === 6;

/** SQLite says that the disk has no room. */
export const isDiskFull = (error: unknown): boolean => errorKind(error) === 13;

/** The low byte of SQLite's extended codes. */
const errorKind = (error: unknown): number => ((error as { readonly errcode?: number }).errcode ?? 0) & 0xff;

const diskFullText = 'The disk is full. Free some space; nothing that was stored is lost.';
