// The archive of one run as a store in memory, so that it is read like any other run.
import { readFile } from 'node:fs/promises';
import { memoryStore } from '#adapters/stores';
import { decodeArchive } from '#app/storage';
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Store } from '#contracts';

type OpenedArchive = { readonly store: Store; readonly run: RunId };

/** Throws `archive_invalid`. */
export const openArchive = async (path: string): Promise<OpenedArchive> => {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (error) {
    throw new CloisterError('archive_invalid', `${path} cannot be read.`, { cause: error });
  }
  return openArchivedRun(bytes);
};

/** Rejects with `archive_invalid`. */
export const openArchivedRun = async (bytes: Uint8Array): Promise<OpenedArchive> => {
  const { run, head, bodies, blobs } = decodeArchive(bytes);
  const store = memoryStore();
  for (const blob of blobs.values()) await store.putBlob(blob);
  await store.importRun(bodies, { run, frames: bodies.length, head, by: 'operator' });
  return { store, run };
};
