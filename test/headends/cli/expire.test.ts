// The limits of `cloister runs expire`, as they reach the storage.
import { expect, test } from 'vitest';
import type { Cloister, KeepRules } from '#contracts';
import { cli, scene } from './driver.ts';

const expire = async (line: string) => {
  const rules: (KeepRules | undefined)[] = [];
  const storage = {
    keep: null,
    expire: async (given) => {
      rules.push(given);
      return [];
    },
  } as Partial<Cloister['storage']> as Cloister['storage'];
  const { code, stderr } = await cli(['runs', 'expire', ...line.split(' ')], scene(), { behaviour: { storage } });
  return { code, stderr, rules };
};

test.each<[string, KeepRules]>([
  ['--days 90', { days: 90 }],
  ['--days 0.5', { days: 0.5 }],
  ['--keep 0 --bytes 100', { runs: 0, bytes: 100 }],
  ['--days 0.25 --agent lead', { agents: { lead: { days: 0.25 } } }],
])('limits are passed on as they are given, parts of a day too: %s', async (line, rules) => {
  expect(await expire(line)).toEqual({ code: 0, stderr: '', rules: [rules] });
});

test.each(['--days -1', '--days soon', '--keep 0.5', '--bytes 1e3'])('%s is refused', async (line) => {
  const { code, rules } = await expire(line);
  expect([code, rules]).toEqual([4, []]);
});
