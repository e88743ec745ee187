// Runs the tests beside it. In a project of yours: `node --test test/*.ts`.
import { spawnSync } from 'node:child_process';

const options = ['--conditions=cloister-source', '--test', '--test-reporter=spec', 'test/*.ts'];
const { status } = spawnSync(process.execPath, options, { cwd: import.meta.dirname, stdio: 'inherit' });
process.exitCode = status ?? 1;
