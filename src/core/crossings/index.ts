export { cross, restoreCrossing } from './cross.ts';
export type { Door, CrossingPass } from './cross.ts';
export { decide } from './decide.ts';
export type { Uses, Verdict } from './decide.ts';
export { grantOf, grantsOf, narrowGrant } from './grants.ts';
export { Ledger } from './ledger.ts';
export type { UnsealedEntries } from './ledger.ts';
