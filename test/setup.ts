// In CI, properties run from one seed, so that a red build is about the change that it builds. Everywhere else from a fresh one.
import { enableCompileCache } from 'node:module';
import { configureGlobal } from 'fast-check';
import { afterAll, afterEach } from 'vitest';
import { haveEnded } from './endings.ts';

// Workers that tests start by the hundred need not compile the same source again.
enableCompileCache();

const seedInCi = 20_261_115;

if (process.env['CI'] !== undefined) {
  configureGlobal({ seed: seedInCi });
  process.env['TWO_RUN_SEED'] ??= String(seedInCi);
}

afterEach(() => haveEnded('test'));
afterAll(() => haveEnded('file'));
