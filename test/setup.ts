// Runs in every test file: property tests use the seed of the run, and helpers clean up after themselves.
import { enableCompileCache } from 'node:module';
import { configureGlobal } from 'fast-check';
import { afterAll, afterEach } from 'vitest';
import { runCleanups } from './cleanup.ts';
import { reportProperty } from './report-property.ts';
import { testSeed } from './test-seed.ts';

// Tests start hundreds of workers, which need not compile the same source again.
enableCompileCache();

configureGlobal({ ...testSeed(), reporter: reportProperty });

afterEach(() => runCleanups('test'));
afterAll(() => runCleanups('file'));
