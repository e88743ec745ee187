// Runs the tests in test/. In your own project: `node --test test/*.ts`.
import { spawnSync } from 'node:child_process';

const options = ['--conditions=cloister-source', '--test', '--test-reporter=spec', 'test/*.ts'];
const { status } = spawnSync(process.execPath, options, { cwd: import.meta.dirname, stdio: 'inherit' });
process.exitCode = status ?? 1;
