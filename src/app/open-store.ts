// Which store is used: a database in the workspace folder, one in PostgreSQL, or none.
import { resolve } from 'node:path';
import type { Configs } from '#app/agents';
import { CloisterError, omitUndefined } from '#base';
import type { Store } from '#contracts';
import { checkPostgresWritable, checkWorkspaceWritable, openPostgresStore, openSqliteStore } from '#adapters/stores';
import { storeAddress, storePassword } from '#core/registry';
import { buildName } from './package-folder.ts';

/** Where runs are stored: in PostgreSQL, or in the folder. The folder also holds what is on this machine only. */
export type StorePlace = {
  readonly workspace: string;
  /** `postgres://…` */
  readonly store?: string | undefined;
  readonly password?: string | undefined;
};

export const openStorePlace = (
  { workspace, store, password }: StorePlace,
  now: () => number = Date.now,
): Promise<Store> =>
  store === undefined
    ? openSqliteStore(workspace, { now, build: buildName() })
    : openPostgresStore(store, { password, folder: resolve(workspace), now });

/** Throws if nothing could be written, so that a server says so before it takes requests. */
export const checkStoreWritable = ({ workspace, store, password }: StorePlace): Promise<void> =>
  store === undefined ? checkWorkspaceWritable(workspace, buildName()) : checkPostgresWritable(store, password);

/** The store of a command: the one that was named, or the one in the config and the environment. */
export const storeOfCommand = async (
  named: string | null,
  configs: Configs,
): Promise<Pick<StorePlace, 'store' | 'password'>> => {
  await configs.read([]);
  const { layers } = configs.forFile(null);
  return omitUndefined({ store: named ?? storeAddress(layers), password: storePassword(layers) });
};

/** Throws `options_invalid`. */
export const requireAddress = (store: string | undefined): string => {
  if (store !== undefined) return store;
  throw new CloisterError('options_invalid', 'store: name one with --store postgres://…, or set CLOISTER_STORE.');
};
