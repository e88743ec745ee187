// Small values that all processes of a workspace share.
//
//   shared-written-once. A write names the version that it replaces, and each version is replaced once.
import { CloisterError, deepFreeze, isObject, utf8Bytes } from '#base';
import type { JsonObject } from '#base';
import type { SharedValue } from '#contracts';
import type { Item, SharedAck, SharedRow } from './messages.ts';

export type SharedTable = {
  /** 0: nobody has written it. */
  sharedVersion(key: string): number;
  setShared(key: string, row: SharedRow): void;
};

const [keyCharsMax, valueBytesMax] = [200, 1024 * 1024];

/** Throws `options_invalid` or `request_too_large`. */
export const sharedRow = (key: string, value: JsonObject | null, version: number): SharedRow => {
  if (typeof key !== 'string' || key === '' || key.length > keyCharsMax || !key.isWellFormed())
    throw new CloisterError('options_invalid', `key: expected a text of 1 to ${keyCharsMax} characters.`);
  if (!Number.isSafeInteger(version) || version < 0)
    throw new CloisterError('options_invalid', 'version: expected the number of a version.');
  const json = value === null ? null : valueJson(value);
  const bytes = utf8Bytes(json ?? '');
  if (bytes > valueBytesMax)
    throw new CloisterError('request_too_large', `A value may have ${valueBytesMax} bytes; this one has ${bytes}.`);
  return { value: json, version: version + 1 };
};

const valueJson = (value: JsonObject): string => {
  const problem = new CloisterError('options_invalid', 'value: expected a JSON object or null.');
  if (!isObject(value)) throw problem;
  try {
    return JSON.stringify(value);
  } catch {
    throw problem;
  }
};

/** Frozen, because it may be handed out again. Throws `store_damaged`. */
export const parseShared = (key: string, row: SharedRow | undefined): SharedValue => {
  if (row === undefined || row.value === null) return { value: null, version: row?.version ?? 0 };
  try {
    const value: unknown = JSON.parse(row.value);
    if (isObject(value)) return deepFreeze({ value: value as JsonObject, version: row.version });
  } catch {
    // Reported below.
  }
  throw new CloisterError('store_damaged', `the shared value ${key} is damaged`);
};

export const writeShared = (table: SharedTable, { key, name, row }: Extract<Item, { do: 'share' }>): SharedAck => {
  const isWritten = table.sharedVersion(name) === row.version - 1;
  if (isWritten) table.setShared(name, row);
  return { key, isWritten };
};
