// Bundles the package into a few JavaScript files: one file per module would cost users 100 ms at every start.
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import type { OutputChunk } from 'rolldown';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Returns the files that belong in `dist/`. */
export const bundlePackage = async (): Promise<readonly Pick<OutputChunk, 'fileName' | 'code'>[]> => {
  const bundle = await rolldown({
    cwd: root,
    input: { ...entries(), 'sqlite-worker': join(root, 'src/adapters/stores/sqlite-worker.ts') },
    platform: 'node',
    // Old versions of Node must be able to parse it, so that they can report that they are too old.
    transform: { target: 'es2022' },
    // Vendor packages stay external and are installed by the user's npm. The compiler's runtime helpers are bundled.
    external: (id) => !/^(?:[.#/]|@oxc-project\/runtime)/u.test(id),
    resolve: { conditionNames: ['cloister-source', 'node', 'import', 'default'] },
  });
  try {
    const names = { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' };
    // What users look up is in the declarations.
    const comments = { jsdoc: false };
    const codeSplitting = { groups: [cliChunk] };
    const { output } = await bundle.generate({ format: 'esm', ...names, comments, codeSplitting });
    return output.filter((file) => file.type === 'chunk');
  } finally {
    await bundle.close();
  }
};

/** Commands are imported one by one; as a file each, with parts that some of them share, they would start more slowly. */
const cliChunk = { name: 'cli', test: /src\/headends\/cli\// };

type Target = string | { readonly 'cloister-source'?: string; readonly default?: string };

/** The entry points that package.json declares, with their sources. */
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
