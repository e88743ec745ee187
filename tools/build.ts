// Builds the published package: a few JavaScript files in dist/ (one file per module would cost users 100 ms at every start)
// and declarations in dist/types/.
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
  // Old versions of Node must be able to parse it, so that they can report that they are too old.
  transform: { target: 'es2022' },
  // Vendor packages stay external and are installed by the user's npm. The compiler's runtime helpers are bundled.
  external: (id) => !/^(?:[.#/]|src\/|@oxc-project\/runtime)/u.test(id),
  resolve: { conditionNames: ['cloister-source', 'node', 'import', 'default'] },
});
await bundle.write({ dir: dist, format: 'esm', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' });
