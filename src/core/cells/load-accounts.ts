// Rebuilds the accounts of a run from its log.
//
//   The log says when each hold was granted, so it shows which attempts had theirs when the process died (their use is unknown)
//   and which were still waiting (nothing was used). This is never derived from balances: the order in which operations
//   request their holds again after a crash is in no record.
//   Operations in flight at a fork belong to the forked run: this run has used nothing for them until it starts them itself.
import type { CellId } from '#base';
import type { Birth, Frame } from '#contracts';
import { Account } from './account.ts';
import { spawnedWaitName } from './start-wait.ts';

export type LoadedAccounts = {
  readonly accounts: Map<CellId, Account>;
  /** `<cell>/<operation>` of the attempts that were in flight. */
  readonly inFlight: ReadonlySet<string>;
};

export const loadAccounts = (frames: readonly Frame[]): LoadedAccounts => {
  const inFlight = findInFlightHolds(frames);
  const accounts = new Map<CellId, Account>();
  for (const { record, cell } of frames) {
    if (record.type === 'open') openAccount(accounts, record.birth);
    const account = accounts.get(cell);
    if (record.type === 'begin') {
      if (record.birth !== undefined) openAccount(accounts, record.birth);
      if (typeof record.about?.['step'] === 'number') account?.countStep();
      if (record.do === 'receive' && record.name === spawnedWaitName) account?.releaseFloor();
      if (record.hold !== undefined) {
        if (account !== undefined) account.floor = record.hold;
        if (record.hold.bytes !== undefined) account?.setMemoryBytes(record.hold.bytes);
        // This happens before any cell continues: otherwise new holds would be granted as if these attempts had used nothing.
        // probe: account-load-under-way
        if (inFlight.has(`${cell}/${record.op}`)) account?.load(null, record.hold);
      }
    }
    if (record.type === 'post' && typeof record.about?.['step'] === 'number') account?.countStep();
    if (record.type === 'settle' && record.ended !== undefined) accounts.get(record.ended.cell)?.setMemoryBytes(0);
    if (record.type === 'settle') account?.load(record.cost ?? null, record.uncertain);
    if (record.type === 'again') account?.load(null, record.uncertain);
  }
  return { accounts, inFlight };
};

const openAccount = (accounts: Map<CellId, Account>, birth: Birth): void => {
  const parent = birth.parent === null ? null : (accounts.get(birth.parent) ?? null);
  parent?.countSpawn();
  const account = new Account(parent, birth.caps);
  if (birth.floor !== undefined) account.floor = birth.floor;
  // The team reserved its floor for this answer, so the floor is released.
  if (parent !== null && birth.task?.part === 'answer') parent.releaseFloor();
  accounts.set(birth.cell, account);
};

/** The holds that had been granted and not released at the end of the log. */
const findInFlightHolds = (frames: readonly Frame[]): ReadonlySet<string> => {
  const held = new Set<string>();
  for (const { record, cell } of frames) {
    // probe: log-fork-in-flight
    if (record.type === 'fork') held.clear();
    if (!('op' in record)) continue;
    const key = `${cell}/${record.op}`;
    switch (record.type) {
      case 'begin':
        if (record.hold !== undefined && record.waits !== true) held.add(key);
        break;
      case 'held':
        held.add(key);
        break;
      case 'again':
      case 'settle':
        held.delete(key);
        break;
      case 'post':
    }
  }
  return held;
};
