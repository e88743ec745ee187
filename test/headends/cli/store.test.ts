// `--store`, and the commands for stores in PostgreSQL.
import { expect, test } from 'vitest';
import { cli } from './driver.ts';

const url = 'postgres://cloister@db.example.com/cloister';

test('every command that takes a workspace takes a store', async () => {
  for (const args of [['runs'], ['audit', 'last'], ['show', 'last']]) {
    const { stores } = await cli([...args, '--store', url]);
    expect(stores).toEqual([url]);
  }
  expect((await cli(['runs'])).stores).toEqual([]);
});

test('store migrate says what it did, and copy what it copied', async () => {
  const migrated = await cli(['store', 'migrate', '--store', url]);
  expect([migrated.code, migrated.stdout]).toEqual([0, `${url}: made version 1 of the tables.\n`]);
  expect(JSON.parse((await cli(['store', 'migrate', '--json'])).stdout)).toMatchObject({ store: 'from the config' });
  const copied = await cli(['store', 'copy', '--from', './.cloister', '--to', url]);
  expect(copied.code).toBe(0);
  expect(copied.stdout).toContain('Copied 2 runs (30 records), 4 large values');
  expect((await cli(['store', 'copy', '--from', './.cloister'])).code).not.toBe(0);
});
