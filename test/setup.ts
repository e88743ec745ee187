// In CI, property tests use a fixed seed, so that a red build is caused by its own change. Everywhere else the seed is random.
import { enableCompileCache } from 'node:module';
import { configureGlobal } from 'fast-check';
import { afterAll, afterEach } from 'vitest';
import { runCleanups } from './cleanup.ts';

// Tests start hundreds of workers, which need not compile the same source again.
enableCompileCache();

const seedInCi = 20_261_115;

if (process.env['CI'] !== undefined) {
  configureGlobal({ seed: seedInCi });
  process.env['TWO_RUN_SEED'] ??= String(seedInCi);
}

afterEach(() => runCleanups('test'));
afterAll(() => runCleanups('file'));
