// Checks before the first run whether a folder can store runs.
import { resolve } from 'node:path';
import { CloisterError } from '#base';
import { openForWriting } from './database.ts';
import { storeError } from './store-error.ts';

const busyTimeoutMs = 10_000;

/** Creates what is missing. Throws `store_failed` and similar errors, with the path. */
export const probeWorkspaceWritable = (folder: string, build: string): void => {
  try {
    const database = openForWriting(resolve(folder), { busyTimeoutMs, build });
    try {
      // An existing database may be read-only.
      database.exec('BEGIN IMMEDIATE; ROLLBACK');
    } finally {
      database.close();
    }
  } catch (error) {
    const { code, failure } = storeError(error);
    throw new CloisterError(code, `${folder}: ${failure.detail ?? ''}`, { cause: error });
  }
};
