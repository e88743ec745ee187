// Opens links in the user's browser, here a program that writes down what it was given.
// invariants: link-not-in-arguments
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, test } from 'vitest';
import { openBrowser } from '../../src/app/open-browser.ts';
import { newTemporaryFolder } from '../isolation/temporary-folder.ts';

const link = 'http://127.0.0.1:8788/#token=clo_secret-Token_1';

test('the browser is given a file of this user that leads to the link; no process has the token in its arguments', async () => {
  const folder = newTemporaryFolder();
  const given = join(folder, 'given');
  writeFileSync(
    join(folder, 'xdg-open'),
    `#!/bin/sh\nprintf '%s' "$*" > '${given}.new' && mv '${given}.new' '${given}'\n`,
  );
  chmodSync(join(folder, 'xdg-open'), 0o700);
  const env = { PATH: `${folder}${delimiter}${process.env['PATH'] ?? ''}`, DISPLAY: ':0' };
  expect(await openBrowser(link, env, 'linux')).toBe(true);
  await expect.poll(() => existsSync(given), { timeout: 10_000 }).toBe(true);
  const file = readFileSync(given, 'utf8');
  expect(file).not.toContain('clo_');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, 'utf8')).toContain(`content="0; url=${link}"`);
});

test('without a screen, or without a browser, it says so', async () => {
  const folder = newTemporaryFolder();
  expect(await openBrowser(link, { PATH: folder }, 'linux')).toBe(false);
  expect(await openBrowser(link, { PATH: folder, DISPLAY: '' }, 'linux')).toBe(false);
  expect(await openBrowser(link, { PATH: folder, WAYLAND_DISPLAY: 'wayland-0' }, 'linux')).toBe(false);
});
