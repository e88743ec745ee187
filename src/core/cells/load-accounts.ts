// The accounts of a run as its log leaves them.
//
//   The order of frames is the order in which holds were asked for and given back. So running through it tells which holds
//   had been given when the process died (their use is not known) and which were only waiting (nothing was used).
import type { CellId } from '#base';
import type { Amounts, Birth, Frame } from '#contracts';
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
        // Before any cell goes on: no new hold may be given as if these had used nothing.
        if (underWay.has(`${cell}/${record.op}`)) account?.load(null, record.hold);
      }
    }
    if (record.type === 'settle') account?.load(record.cost ?? null, record.uncertain);
    if (record.type === 'again') account?.load(null, record.uncertain);
  }
  return { accounts, underWay };
};

const open = (accounts: Map<CellId, Account>, birth: Birth): void => {
  const parent = birth.parent === null ? null : (accounts.get(birth.parent) ?? null);
  parent?.countSpawn();
  accounts.set(birth.cell, new Account(parent, birth.caps));
};

type Held = { readonly account: Account; readonly hold: Amounts; held: boolean };

/** Runs the holds of the log through accounts of their own. */
const holdsAtTheEnd = (frames: readonly Frame[]): ReadonlySet<string> => {
  const accounts = new Map<CellId, Account>();
  const flying = new Map<string, Held>();
  const ask = (key: string, account: Account, hold: Amounts): void => {
    const one: Held = { account, hold, held: false };
    flying.set(key, one);
    account.floor = hold;
    account.request(hold, (held) => (one.held = held && flying.get(key) === one));
  };
  for (const { record, cell } of frames) {
    if (record.type === 'open') open(accounts, record.birth);
    const account = accounts.get(cell);
    if (record.type === 'begin' && record.birth !== undefined) open(accounts, record.birth);
    if (!('op' in record) || account === undefined) continue;
    const key = `${cell}/${record.op}`;
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
