// Whether runs can be kept in a folder, known before there is one.
import { resolve } from 'node:path';
import { CloisterError } from '#base';
import { openForWriting } from './database.ts';
import { storeError } from './store-error.ts';

const busyTimeoutMs = 10_000;

/** Makes what is missing. Throws `store_failed` and the like, with the path. */
export const probeWorkspaceWritable = (folder: string): void => {
  try {
    const database = openForWriting(resolve(folder), busyTimeoutMs);
    try {
      // One that is there already may be open to be read only.
      database.exec('BEGIN IMMEDIATE; ROLLBACK');
    } finally {
      database.close();
    }
  } catch (error) {
    const { code, failure } = storeError(error);
    throw new CloisterError(code, `${folder}: ${failure.detail ?? ''}`, { cause: error });
  }
};
