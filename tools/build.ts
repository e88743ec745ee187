// Builds what is published: dist/ from src/, and the example that `cloister demo` runs, as JavaScript beside it.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';

rmSync('dist', { recursive: true, force: true });
execFileSync('tsc', ['-p', 'tsconfig.build.json'], { stdio: 'inherit' });

const from = 'examples/research';
const to = 'dist/examples/research';
mkdirSync(to, { recursive: true });
for (const file of readdirSync(from).filter((name) => name.endsWith('.ts'))) {
  const code = stripTypeScriptTypes(readFileSync(`${from}/${file}`, 'utf8'), { mode: 'strip' });
  writeFileSync(`${to}/${file.replace(/\.ts$/u, '.js')}`, code.replace(/(from '\.\/[^']+)\.ts'/gu, "$1.js'"));
}
