// Builds the program that the trials run: a copy of the sources, modified if requested, bundled with the reference run. It is
// a copy so that edits during a long lane do not mix two versions, and a bundle because that is what is published and starts fast.
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import type { Plugin } from 'rolldown';

/** `before` must occur exactly once in the files of that folder. */
export type Edit = { readonly under: string; readonly before: string; readonly after: string };

export type Subject = {
  /** The script to start. */
  readonly script: string;
  /** The server and the command, for clients. */
  readonly server: string;
  readonly command: string;
  readonly name: string;
};

const here = fileURLToPath(new URL('.', import.meta.url));
export const repo = fileURLToPath(new URL('..', import.meta.url));

/** Builds below `scratch`, which must be inside the repository: the bundle resolves its packages from there. */
export const buildSubject = async (
  scratch: string,
  { name = 'subject', source = repo, edits = [] }: { name?: string; source?: string; edits?: readonly Edit[] } = {},
): Promise<Subject> => {
  const copy = join(scratch, name);
  await mkdir(copy, { recursive: true });
  await cp(join(source, 'src'), join(copy, 'src'), { recursive: true });
  await cp(join(here, 'subject'), join(copy, 'subject'), { recursive: true });
  await writeFile(join(copy, 'package.json'), await manifestOf(source));
  for (const edit of edits) await apply(copy, edit);
  const dist = join(copy, 'dist');
  await bundle(copy, dist);
  return {
    script: join(dist, 'main.js'),
    server: join(dist, 'server.js'),
    command: join(dist, 'command.js'),
    name,
  };
};

const manifestOf = async (source: string): Promise<string> => {
  const { name, version, type, imports, exports } = JSON.parse(await readFile(join(source, 'package.json'), 'utf8'));
  return JSON.stringify({ name, version, type, imports, exports });
};

const apply = async (copy: string, { under, before, after }: Edit): Promise<void> => {
  const folder = join(copy, under);
  let times = 0;
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = entry.name;
    const text = await readFile(join(folder, file), 'utf8');
    times += text.split(before).length - 1;
    if (text.includes(before))
      await writeFile(
        join(folder, file),
        text.replace(before, () => after),
      );
  }
  if (times !== 1) throw new Error(`${under} contains this text ${times} times instead of once: ${before}`);
};

const bundle = async (copy: string, dist: string): Promise<void> => {
  const made = await rolldown({
    cwd: copy,
    input: {
      main: './subject/main.ts',
      server: './subject/server.ts',
      command: './subject/command.ts',
      'sqlite-worker': './src/adapters/stores/sqlite-worker.ts',
    },
    platform: 'node',
    external: (id) => !/^(?:[.#/]|cloister(?:\/|$)|@oxc-project\/runtime)/u.test(id),
    resolve: { conditionNames: ['cloister-source', 'node', 'import', 'default'] },
    plugins: [watchStores(join(copy, 'subject/watched-stores.ts'))],
  });
  await made.write({ dir: dist, format: 'esm', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' });
  await made.close();
};

/** Imports of the stores resolve to the watched ones, which import the real ones. */
const watchStores = (watched: string): Plugin => ({
  name: 'watch-stores',
  resolveId: (id, importer) => (id === '#adapters/stores' && importer !== watched ? watched : null),
});
