// The life of recorded runs.
export { formerDatabases } from './former-databases.ts';
export { LocalRunStorage } from './local-run-storage.ts';
export { makeOperatorKey, operatorKeyVariable, readOperatorKey } from './operator-key.ts';
export type { OperatorKey } from './operator-key.ts';
