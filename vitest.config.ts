import { randomInt } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const conditions = ['cloister-source', 'node', 'import', 'default'];

/**
 * Tests share processes: to start one, and to load the code again, costs more than most of them. Those that could change
 * something for others do not, nor those that stand on a helper with hooks of its own: where processes are shared, it is loaded
 * once (`test/cleanup.ts` is what it can use instead).
 */
const changesGlobals = new RegExp(
  [
    String.raw`\bvi\.(?!fn\b)`,
    // What only looks: `process.kill(pid, 0)` asks whether somebody lives, './process.ts' is a file.
    String.raw`\bprocess\.(?!(?:execPath|pid|platform|getuid|listenerCount|cpuUsage|ts)\b|kill\(pid, 0\)|env\['\w+'\](?! \?*= ))\w`,
    String.raw`\bglobalThis\b`,
    String.raw`(?<!\bObject)\.prototype\b|\.prototype[.[]`,
  ].join('|'),
  'u',
);
const hooksWhenLoaded = /^(?:before|after)(?:All|Each)\(/mu;

/** Itself, and what it imports of the tests. */
const readsOf = (file: string, read = new Set<string>()): ReadonlySet<string> => {
  if (read.has(file)) return read;
  read.add(file);
  const imports = readFileSync(file, 'utf8').matchAll(/ from '(\.[^']+\.ts)'/gu);
  for (const [, path = ''] of imports) {
    const imported = join(file, '..', path);
    if (imported.startsWith('test/')) readsOf(imported, read);
  }
  return read;
};

const mayShare = (test: string): boolean =>
  [...readsOf(test)].every((file) => {
    const text = readFileSync(file, 'utf8');
    return !changesGlobals.test(text) && (file === test || !hooksWhenLoaded.test(text));
  });

const shared = globSync('test/{adapters,app,core,deep,e2e,headends,isolation,testkit}/**/*.test.ts').filter(mayShare);

/** `npm run test:clients` loads large client libraries, which takes longer than what they are tested with. */
const slowClients = process.env['CLIENTS'] === 'all' ? [] : ['test/clients/**'];

// This file is read once per project; the first time decides.
if (process.env['TEST_SEED'] === 'fresh') {
  const seed = String(randomInt(2 ** 31));
  process.env['TEST_SEED'] = seed;
  console.log(`Fresh seed ${seed}. Repeat with TEST_SEED=${seed} npm run test:run`);
}

/** The page is a workspace of its own, which has no `#` imports; its build has the same alias. */
const alias = { '#headends/run-view': fileURLToPath(new URL('src/headends/run-view/index.ts', import.meta.url)) };

/** `npm run test:web` opens many pages; one short journey is in every run. */
const slowPages = process.env['WEB'] === 'all' ? [] : ['test/web/**/*.browser.test.ts'];

/** `npm run test:engine` has a config of its own: it starts databases, engines and workers. */
const realEngines = ['test/engine/**'];

const hangsMs = 1_200_000;

export default defineConfig({
  resolve: { conditions, alias },
  // As for the page of a server.
  define: { isKeptFile: 'false' },
  ssr: { resolve: { conditions } },
  test: {
    setupFiles: ['test/setup.ts'],
    // Tests that bundle run at the same time as others: more threads for each would only wait for each other.
    // LangChain must not report to anybody.
    env: { RAYON_NUM_THREADS: '1', LANGCHAIN_TRACING_V2: 'false', LANGSMITH_TRACING: 'false' },
    // The only time limit of the tests, for what hangs: a busy machine is slow, not wrong.
    testTimeout: hangsMs,
    hookTimeout: hangsMs,
    expect: { poll: { timeout: hangsMs / 10 } },
    // On two cores the default would be one.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      {
        extends: true,
        test: {
          name: 'apart',
          include: ['test/**/*.test.ts'],
          exclude: ['test/.planted/**', ...slowClients, ...slowPages, ...realEngines, ...shared],
        },
      },
      { extends: true, test: { name: 'shared', include: shared, isolate: false } },
    ],
  },
});
