#!/usr/bin/env node
// `npm create cloister [folder] -- [--template <name>]`: runs `cloister init` of the same version. Kept to syntax that old Nodes read.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const [major, minor] = process.versions.node.split('.').map(Number);
const isOld = major < 24 || (major === 24 && minor < 16);

const packages = ['-p', `cloister@${version}`, ...(isOld ? ['-p', 'node@24'] : [])];
const { status } = spawnSync('npx', ['--yes', ...packages, 'cloister', 'init', ...process.argv.slice(2)], {
  stdio: 'inherit',
  shell: process.platform === 'win32',
});
if (status === 0)
  console.log(
    '\nBefore these: npm install, in that folder.' +
      (isOld ? ' This Node is older than 24.16: write npx -p node@24 cloister instead of npx cloister.' : ''),
  );
process.exitCode = status ?? 1;
