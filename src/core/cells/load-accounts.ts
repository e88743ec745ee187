// The accounts of a run as its log leaves them.
//
//   The order of frames is the order in which holds were asked for and given back. So running through it tells which holds
//   had been given when the process died (their use is not known) and which were only waiting (nothing was used).
//   What was under way where a run was cut is the other run's: this one has used nothing for it until it asks for it itself.
import type { CellId } from '#base';
import type { Amounts, Birth, Frame, FrameRecord } from '#contracts';
import { Account } from './account.ts';

export type LoadedAccounts = {
  readonly accounts: Map<CellId, Account>;
  /** `<cell>/<operation>` of the attempts that were under way. */
  readonly underWay: ReadonlySet<string>;
};

export const loadAccounts = (frames: readonly Frame[]): LoadedAccounts => {
  const underWay = holdsAtTheEnd(frames);
  const accounts = new Map<CellId, Account>();
  for (const { record, cell } of frames) {
    if (record.type === 'open') open(accounts, record.birth);
    const account = accounts.get(cell);
    if (record.type === 'begin') {
      if (record.birth !== undefined) open(accounts, record.birth);
      if (typeof record.about?.['step'] === 'number') account?.countStep();
      if (record.hold !== undefined) {
        if (account !== undefined) account.floor = record.hold;
        if (record.hold.bytes !== undefined) account?.addBytes(record.hold.bytes);
        // Before any cell goes on: no new hold may be given as if these had used nothing.
        // probe: account-load-under-way
        if (underWay.has(`${cell}/${record.op}`)) account?.load(null, record.hold);
      }
    }
    if (record.type === 'post' && typeof record.about?.['step'] === 'number') account?.countStep();
    if (record.type === 'settle' && record.ended !== undefined) accounts.get(record.ended.cell)?.addBytes(0);
    if (record.type === 'settle') account?.load(record.cost ?? null, record.uncertain);
    if (record.type === 'again') account?.load(null, record.uncertain);
  }
  return { accounts, underWay };
};

const open = (accounts: Map<CellId, Account>, birth: Birth): void => {
  const parent = birth.parent === null ? null : (accounts.get(birth.parent) ?? null);
  parent?.countSpawn();
  const account = new Account(parent, birth.caps);
  if (birth.floor !== undefined) account.floor = birth.floor;
  // What a team has kept free is for this.
  if (parent !== null && birth.task?.part === 'answer') parent.floor = {};
  accounts.set(birth.cell, account);
};

type Held = { readonly account: Account; readonly hold: Amounts; held: boolean };

/** Runs the holds of the log through accounts of their own. Up to the last cut nothing is held any more. */
const holdsAtTheEnd = (frames: readonly Frame[]): ReadonlySet<string> => {
  // probe: log-last-fork
  const cut = frames.findLastIndex(({ record }) => record.type === 'fork');
  const accounts = new Map<CellId, Account>();
  const flying = new Map<string, Held>();
  let askedAgain = false;
  const ask = (key: string, account: Account, hold: Amounts): void => {
    const one: Held = { account, hold, held: false };
    flying.set(key, one);
    account.floor = hold;
    account.request(hold, (held) => (one.held = held && flying.get(key) === one));
  };
  for (const [index, { record, cell }] of frames.entries()) {
    if (record.type === 'open') open(accounts, record.birth);
    const account = accounts.get(cell);
    if (record.type === 'begin' && record.birth !== undefined) open(accounts, record.birth);
    if (record.type === 'resume' && index > cut && cut >= 0 && !askedAgain) {
      askedAgain = true;
      for (const [key, one] of flying) ask(key, one.account, one.hold);
    }
    if (!('op' in record) || account === undefined) continue;
    const key = `${cell}/${record.op}`;
    if (index < cut) {
      settleBefore(record, key, { account, flying });
      continue;
    }
    const one = flying.get(key);
    if (record.type === 'begin' && record.hold !== undefined) ask(key, account, record.hold);
    if (record.type === 'settle' && one !== undefined) {
      flying.delete(key);
      if (one.held) account.settle(one.hold, record.cost ?? null);
    }
    if (record.type === 'again' && one !== undefined) {
      flying.delete(key);
      if (one.held) account.settle(one.hold, null);
      ask(key, account, one.hold);
    }
  }
  return new Set([...flying].flatMap(([key, { held }]) => (held ? [key] : [])));
};

/** Of what another run did up to the cut, what it cost and what is in doubt is left. */
const settleBefore = (
  record: FrameRecord,
  key: string,
  { account, flying }: { readonly account: Account; readonly flying: Map<string, Held> },
): void => {
  if (record.type === 'begin' && record.hold !== undefined) {
    flying.set(key, { account, hold: record.hold, held: false });
    account.floor = record.hold;
  }
  if (record.type === 'settle') {
    flying.delete(key);
    account.load(record.cost ?? null, record.uncertain);
  }
  if (record.type === 'again') account.load(null, record.uncertain);
};
