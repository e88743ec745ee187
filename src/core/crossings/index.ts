export { Door } from './door.ts';
export type { CrossingMoment, CrossingRequest, Withdrawals } from './door.ts';
export { replaceContent } from './ledger.ts';
export type { UnsealedEntries } from './ledger.ts';
export { areTeammates, mayWrite, messagesDefault } from './policy.ts';
export type { Party } from './policy.ts';
