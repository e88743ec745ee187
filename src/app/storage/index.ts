// The life of recorded runs.
export { decodeArchive } from './archive-file.ts';
export { archiveFolder } from './archive-folder.ts';
export type { ArchiveFolder } from './archive-folder.ts';
export { Archives } from './archives.ts';
export { formerDatabases } from './former-databases.ts';
export { LocalRunStorage } from './local-run-storage.ts';
export { makeOperatorKey, readOperatorKey } from './operator-key.ts';
export type { OperatorKey } from './operator-key.ts';
