export { cross } from './cross.ts';
export type { Door } from './cross.ts';
export { decide } from './decide.ts';
export type { GrantUses, Verdict } from './decide.ts';
export { createGrant, createGrants, narrowGrant } from './grants.ts';
export { Ledger } from './ledger.ts';
export type { UnsealedEntries } from './ledger.ts';
