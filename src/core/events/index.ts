export { Account, noCost } from './account.ts';
export type { WaitingHold } from './account.ts';
export { Accounts, spawnedWaitName } from './accounts.ts';
export { amountText, shortageText } from './budget-shortage.ts';
