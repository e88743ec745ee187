// Builds what is published: a few files of JavaScript in dist/ (a module a file would cost its users 100 ms at every
// start), and declarations in dist/types/.
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { rolldown } from 'rolldown';

const dist = process.argv[2] ?? 'dist';
rmSync(dist, { recursive: true, force: true });
execFileSync('tsc', ['-p', 'tsconfig.build.json', '--outDir', `${dist}/types`], { stdio: 'inherit' });

const bundle = await rolldown({
  input: {
    index: 'src/app/index.ts',
    main: 'src/app/main.ts',
    testkit: 'src/app/testkit.ts',
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
