// The production code with something changed in it, bundled with a script that checks it, in a process of its own.
//
//   plant-never-lost. No change is lost unseen: its probe point exists once, and the changed file is part of the bundle.
//   plant-own-process. What one plant leaves in `globalThis` reaches no other.
//   plant-never-ships. Changes exist as text, and below test/.planted while a test runs.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import type { Plugin, RolldownOutput } from 'rolldown';
import { exactRegex } from 'rolldown/filter';
import { applyEdits } from './apply-edits.ts';
import type { Edit } from './apply-edits.ts';
import { myFolder, root } from './folders.ts';

export type { Edit };

export type Plant = {
  /** The script that checks, from the root of the repository. It imports the package as `cloister` or through `#…`. */
  readonly entry: string;
  readonly edits: readonly Edit[];
  readonly args?: readonly string[];
};

/** By custom 0: nothing was found; 3: something was. Any other means that the check did not even run; -1: it was ended. */
export type Ended = { readonly exit: number; readonly stdout: string; readonly stderr: string };

/** `signal`: ends it. */
export const plantAndRun = async (plant: Plant, signal?: AbortSignal): Promise<Ended> => {
  const folder = await mkdtemp(join(await myFolder(), 'plant-'));
  try {
    await bundle(plant, folder);
    return await run(join(folder, 'check.js'), plant.args ?? [], signal);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/** As the package is built: a bundle beside the thread that writes, vendors left where they are. */
const bundle = async ({ entry, edits }: Plant, dir: string): Promise<void> => {
  const edited = new Map([...applyEdits(edits)].map(([file, text]) => [join(root, file), text]));
  const bundled = await rolldown({
    cwd: root,
    input: { check: join(root, entry), 'sqlite-worker': join(root, 'src/adapters/stores/sqlite-worker.ts') },
    platform: 'node',
    external: /^(?![.#/]|cloister(?:\/|$)|@oxc-project\/runtime)/u,
    resolve: { conditionNames: ['cloister-source', 'node', 'import', 'default'] },
    // Nothing of it is for a bundler, and to look for it at every file takes a quarter of the time.
    tsconfig: false,
    plugins: [withEdits(edited), withAddresses],
    // What nobody calls is loaded all the same, as it is from source.
    treeshake: false,
  });
  try {
    const output = await bundled.write({ dir, format: 'esm', entryFileNames: '[name].js' });
    assertBundled(output, [...edited.keys()]);
  } finally {
    await bundled.close();
  }
};

/** The filter is asked in the bundler itself; the function, once for each changed file, in JavaScript. */
const withEdits = (texts: ReadonlyMap<string, string>): Plugin => ({
  name: 'planted edits',
  load: { filter: { id: [...texts.keys()].map((path) => exactRegex(path)) }, handler: (id) => texts.get(id) ?? null },
});

/** What belongs to the tests keeps its address, to find what lies beside it. The package finds itself, as it does when built. */
const withAddresses: Plugin = {
  name: 'addresses of the tests',
  transform: {
    filter: { id: { exclude: [`${root}src/**`] }, code: 'import.meta.url' },
    handler: (code, id) => code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)),
  },
};

const assertBundled = ({ output }: RolldownOutput, files: readonly string[]): void => {
  const modules = new Set(output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : [])));
  const missing = files.filter((file) => !modules.has(file));
  if (missing.length > 0) throw new Error(`Changed, but not part of what is run: ${missing.join(', ')}`);
};

const run = (script: string, args: readonly string[], signal?: AbortSignal): Promise<Ended> =>
  new Promise((resolve) => {
    const limits = { maxBuffer: 100_000_000, timeout: timeoutMs, killSignal: 'SIGKILL', signal } as const;
    execFile(process.execPath, [script, ...args], { cwd: root, ...limits }, (error, stdout, stderr) => {
      if (error === null) resolve({ exit: 0, stdout, stderr });
      else if (typeof error.code === 'number') resolve({ exit: error.code, stdout, stderr });
      else resolve({ exit: -1, stdout, stderr: `${stderr}${error.message} (${error.signal ?? error.code})` });
    });
  });

/** A planted change may make the code hang. A little less than the limit of a test, which would not say as much. */
const timeoutMs = 1_000_000;
