// The page of the studio: from the published package or, in a clone, built when it is first needed.
import { existsSync, globSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sha256 } from '#base';
import type { PageFiles } from '#headends/studio';
import { packageFolder } from './package-folder.ts';

/** Rejects if the page is not built and cannot be. */
export const loadStudioPage = async (): Promise<PageFiles> => {
  const folder = await studioFolder();
  return new Map(
    globSync('**/*', { cwd: folder, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => {
        const path = join(entry.parentPath, entry.name);
        return [path.slice(folder.length + 1).replaceAll('\\', '/'), readFileSync(path)] as const;
      }),
  );
};

const inPackage = (path: string): string => fileURLToPath(new URL(path, packageFolder));

const studioFolder = async (): Promise<string> => {
  const published = inPackage('dist/web');
  // In a clone, what was built for a package may be older than the source.
  if (!existsSync(inPackage('web/index.html'))) return published;
  const sources = globSync(['web/**/*', 'src/headends/run-view/*', 'src/base/**/*', 'tools/build-web.ts'], {
    cwd: inPackage('.'),
    exclude: ['**/node_modules/**'],
  });
  const state = sources.sort().map((path) => {
    const { mtimeMs, size } = statSync(inPackage(path));
    return `${path} ${mtimeMs} ${size}`;
  });
  const built = inPackage(`node_modules/.cache/cloister-web/${sha256(state.join('\n')).slice(0, 16)}`);
  if (!existsSync(built)) await build(built);
  return built;
};

/** Several processes may build it at the same time: the first wins, and all results are the same. */
const build = async (folder: string): Promise<void> => {
  const building = `${folder}-${process.pid}`;
  const { buildWeb } = (await import(new URL('tools/build-web.ts', packageFolder).href)) as {
    readonly buildWeb: (folder: string) => Promise<void>;
  };
  try {
    await buildWeb(building);
    renameSync(building, folder);
  } catch (error) {
    rmSync(building, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
};
