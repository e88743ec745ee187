// The addresses of engines, and packages that are not installed.
import { expect, test } from 'vitest';
import { parseRestateAddress } from '#adapters/engines';
import { loadPackage } from '../../../src/adapters/engines/load-package.ts';
import { refusalMs } from '../../../src/adapters/engines/retry-times.ts';

test('an address of Restate says where calls go, and where this worker is reached', () => {
  expect(parseRestateAddress('restate://r.internal:8080')).toEqual({
    ingress: 'http://r.internal:8080',
    admin: 'http://r.internal:9070',
    listen: { host: '127.0.0.1', port: 0 },
    reach: null,
  });
  expect(parseRestateAddress('restate://r:1?admin=a:2&listen=0.0.0.0:9080&reach=http://balancer:9080')).toEqual({
    ingress: 'http://r:1',
    admin: 'http://a:2',
    listen: { host: '0.0.0.0', port: 9080 },
    reach: 'http://balancer:9080',
  });
  expect(() => parseRestateAddress('restate://')).toThrow('restate://host:port');
});

test('a package that is missing is named, with the command that installs it', async () => {
  const missing = Object.assign(new Error('no'), { code: 'ERR_MODULE_NOT_FOUND' });
  const failed = loadPackage('pg-boss', () => Promise.reject(missing));
  await expect(failed).rejects.toThrow('npm install pg-boss');
  await expect(loadPackage('pg-boss', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
});

test('a refused run is called for longer than a request waits for a worker', () => {
  const all = Array.from({ length: 200 }, (_, nth) => refusalMs(nth) ?? 0);
  expect(all.reduce((sum, ms) => sum + ms)).toBeGreaterThan(5 * 60_000);
  expect(all.at(-1)).toBe(0);
});
