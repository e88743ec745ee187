// `cloister store`: the tables of a store in PostgreSQL, and copies.
import { Configs } from '#app/agents';
import { copyStorePlaces, migratePostgresStore, shownAddress } from '#adapters/stores';
import type { CliRuntime } from '#headends/cli';
import { requireAddress, storeOfCommand } from './open-store.ts';
import { buildName } from './package-folder.ts';
import { systemLaunchEnvironment } from './system-world.ts';

export const migrateStore: CliRuntime['migrateStore'] = async (url) => {
  const { store, password } = await storeOfCommand(url, new Configs(systemLaunchEnvironment()));
  const address = requireAddress(store);
  const report = await migratePostgresStore(address, { build: buildName(), password });
  return { ...report, store: await shownAddress(address) };
};

export const copyStores: CliRuntime['copyStore'] = async (from, to) => {
  const { password } = await storeOfCommand(null, new Configs(systemLaunchEnvironment()));
  return copyStorePlaces({ from, to, password, build: buildName() });
};
