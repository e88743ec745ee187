import { globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const conditions = ['cloister-source', 'node', 'import', 'default'];

/**
 * Tests of code without a world share processes: to start one, and to load the code again, costs more than most of them.
 * Those that could change something for others do not.
 */
const changesGlobals = /\bvi\.|\bprocess\.|\bglobalThis\b|\.prototype\b/u;
const shared = globSync('test/{core,headends,testkit}/**/*.test.ts').filter(
  (file) => !changesGlobals.test(readFileSync(file, 'utf8')),
);

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    setupFiles: ['test/setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // On two cores the default would be one.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      {
        extends: true,
        test: { name: 'apart', include: ['test/**/*.test.ts'], exclude: ['test/.planted/**', ...shared] },
      },
      { extends: true, test: { name: 'shared', include: shared, isolate: false } },
    ],
  },
});
