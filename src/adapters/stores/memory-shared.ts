// Shared values of a store in memory.
import type { Store } from '#contracts';
import { parseShared, sharedRow, writeShared } from './shared-values.ts';
import type { SharedRow } from './messages.ts';

export const memoryShared = (): Pick<Store, 'readShared' | 'writeShared'> => {
  const rows = new Map<string, SharedRow>();
  const table = {
    sharedVersion: (key: string) => rows.get(key)?.version ?? 0,
    setShared: (key: string, row: SharedRow) => void rows.set(key, row),
  };
  return {
    readShared: async (key) => parseShared(key, rows.get(key)),
    writeShared: async (name, value, version) =>
      writeShared(table, { do: 'share', key: 0, name, row: sharedRow(name, value, version) }).isWritten,
  };
};
