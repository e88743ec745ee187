// Builds what is published: a few files of JavaScript in dist/ (a module a file would cost its users 100 ms at every
// start), declarations in dist/types/, and the example that `cloister demo` runs.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { rolldown } from 'rolldown';

const dist = process.argv[2] ?? 'dist';
rmSync(dist, { recursive: true, force: true });
execFileSync('tsc', ['-p', 'tsconfig.build.json', '--outDir', `${dist}/types`], { stdio: 'inherit' });

const bundle = await rolldown({
  input: {
    index: 'src/app/index.ts',
    main: 'src/app/main.ts',
    testkit: 'src/testkit/index.ts',
    'sqlite-worker': 'src/adapters/stores/sqlite-worker.ts',
  },
  platform: 'node',
  // Old Nodes must be able to read it, to be told that they are too old.
  transform: { target: 'es2022' },
  // Vendors stay what they are: packages that the user's npm installs. What the compiler adds comes along.
  external: (id) => !/^(?:[.#/]|src\/|@oxc-project\/runtime)/u.test(id),
  resolve: { conditionNames: ['cloister-source', 'node', 'import', 'default'] },
});
await bundle.write({ dir: dist, format: 'esm', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' });

const from = 'examples/research';
const to = `${dist}/examples/research`;
mkdirSync(to, { recursive: true });
for (const file of readdirSync(from).filter((name) => name.endsWith('.ts'))) {
  const code = stripTypeScriptTypes(readFileSync(`${from}/${file}`, 'utf8'), { mode: 'strip' });
  writeFileSync(`${to}/${file.replace(/\.ts$/u, '.js')}`, code.replace(/(from '\.\/[^']+)\.ts'/gu, "$1.js'"));
}
