// `npm run test:engine`: with real servers. Not the conditions of the other tests, under which `require` finds the wrong files of pg-pool.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  resolve: { conditions: ['cloister-source', 'node', 'default'] },
  ssr: { resolve: { conditions: ['cloister-source', 'node', 'default'] } },
  test: {
    include: ['test/engine/**/*.test.ts'],
    pool: 'forks',
    fileParallelism: false,
    isolate: false,
    execArgv: ['--conditions=cloister-source'],
    setupFiles: ['test/setup.ts'],
    testTimeout: 300_000,
  },
});
