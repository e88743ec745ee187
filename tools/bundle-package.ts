// The package as a few files of JavaScript: a module a file would cost its users 100 ms at every start.
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import type { OutputChunk } from 'rolldown';

const root = fileURLToPath(new URL('..', import.meta.url));

/** By name, what belongs into `dist/`. */
export const bundlePackage = async (): Promise<readonly Pick<OutputChunk, 'fileName' | 'code'>[]> => {
  const bundle = await rolldown({
    cwd: root,
    input: { ...entries(), 'sqlite-worker': join(root, 'src/adapters/stores/sqlite-worker.ts') },
    platform: 'node',
    // Old Nodes must be able to read it, to be told that they are too old.
    transform: { target: 'es2022' },
    // Vendors stay what they are: packages that the user's npm installs. What the compiler adds comes along.
    external: (id) => !/^(?:[.#/]|@oxc-project\/runtime)/u.test(id),
    resolve: { conditionNames: ['cloister-source', 'node', 'import', 'default'] },
  });
  try {
    const names = { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' };
    const { output } = await bundle.generate({ format: 'esm', ...names });
    return output.filter((file) => file.type === 'chunk');
  } finally {
    await bundle.close();
  }
};

type Target = string | { readonly 'cloister-source'?: string; readonly default?: string };

/** What package.json says is built, and from which source. */
const entries = (): Record<string, string> => {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<
    'exports' | 'imports',
    Record<string, Target>
  >;
  const targets = [...Object.values(manifest.exports), ...Object.values(manifest.imports)];
  return Object.fromEntries(
    targets.flatMap((target) => {
      if (typeof target === 'string') return [];
      const { 'cloister-source': source, default: built } = target;
      return source === undefined || built === undefined ? [] : [[basename(built, '.js'), join(root, source)]];
    }),
  );
};
