// Rebuilds the accounts of a run from its log.
//
//   Frames are in the order in which holds were requested and released. Replaying them shows which holds had been granted
//   when the process died (their use is unknown) and which were still waiting (nothing was used).
//   Operations in flight at a fork belong to the forked run: this run has used nothing for them until it starts them itself.
import type { CellId } from '#base';
import type { Amounts, Birth, Frame, FrameRecord } from '#contracts';
import { Account } from './account.ts';

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
  if (parent !== null && birth.task?.part === 'answer') parent.floor = {};
  accounts.set(birth.cell, account);
};

type InFlightHold = { readonly account: Account; readonly hold: Amounts; held: boolean };

/** Replays the log's holds on separate accounts. Nothing from before the last fork is still held. */
const findInFlightHolds = (frames: readonly Frame[]): ReadonlySet<string> => {
  // probe: log-last-fork
  const lastFork = frames.findLastIndex(({ record }) => record.type === 'fork');
  const accounts = new Map<CellId, Account>();
  const inFlight = new Map<string, InFlightHold>();
  let hasRequestedAgain = false;
  const requestHold = (key: string, account: Account, hold: Amounts): void => {
    const one: InFlightHold = { account, hold, held: false };
    inFlight.set(key, one);
    account.floor = hold;
    account.requestHold(hold, (held) => (one.held = held && inFlight.get(key) === one));
  };
  for (const [index, { record, cell }] of frames.entries()) {
    if (record.type === 'open') openAccount(accounts, record.birth);
    const account = accounts.get(cell);
    if (record.type === 'begin' && record.birth !== undefined) openAccount(accounts, record.birth);
    if (record.type === 'resume' && index > lastFork && lastFork >= 0 && !hasRequestedAgain) {
      hasRequestedAgain = true;
      for (const [key, one] of inFlight) requestHold(key, one.account, one.hold);
    }
    if (!('op' in record) || account === undefined) continue;
    const key = `${cell}/${record.op}`;
    if (index < lastFork) {
      settleBeforeFork(record, key, { account, flying: inFlight });
      continue;
    }
    const one = inFlight.get(key);
    if (record.type === 'begin' && record.hold !== undefined) requestHold(key, account, record.hold);
    if (record.type === 'settle' && one !== undefined) {
      inFlight.delete(key);
      if (one.held) account.settle(one.hold, record.cost ?? null);
    }
    if (record.type === 'again' && one !== undefined) {
      inFlight.delete(key);
      if (one.held) account.settle(one.hold, null);
      requestHold(key, account, one.hold);
    }
  }
  return new Set([...inFlight].flatMap(([key, { held }]) => (held ? [key] : [])));
};

/** Before the fork, only the other run's costs and uncertain amounts count. */
const settleBeforeFork = (
  record: FrameRecord,
  key: string,
  { account, flying: inFlight }: { readonly account: Account; readonly flying: Map<string, InFlightHold> },
): void => {
  if (record.type === 'begin' && record.hold !== undefined) {
    inFlight.set(key, { account, hold: record.hold, held: false });
    account.floor = record.hold;
  }
  if (record.type === 'settle') {
    inFlight.delete(key);
    account.load(record.cost ?? null, record.uncertain);
  }
  if (record.type === 'again') account.load(null, record.uncertain);
};
