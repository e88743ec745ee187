import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const conditions = ['cloister-source', 'node', 'import', 'default'];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/.planted/**', 'node_modules/**'],
    setupFiles: ['test/setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // On two cores the default would be one.
    maxWorkers: Math.max(2, availableParallelism() - 1),
  },
});
