export { cross, crossedBefore } from './cross.ts';
export type { Door, Passed } from './cross.ts';
export { decide } from './decide.ts';
export type { Uses, Verdict } from './decide.ts';
export { grantOf, grantsOf, narrowGrant } from './grants.ts';
export { Ledger } from './ledger.ts';
export type { Pending } from './ledger.ts';
