// The built command, from the current sources. A process starts from it in half the time it takes from source, and the tests
// start many. `package.test.ts` covers the command in a clone and in an installed package.
import { hash } from 'node:crypto';
import * as fs from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { VERSION as rolldownVersion } from 'rolldown';
import { buildWeb } from '../../tools/build-web.ts';
import { bundlePackage } from '../../tools/bundle-package.ts';

/** Files the command reads from its package besides the code; and test modules, for which `cloister` is then this package. */
const packageFiles = ['package.json', 'bin/cloister.js', 'examples', 'templates', 'schemas', 'test/e2e/modules'];

/** Everything that determines the content of `dist/`, besides the bundler. */
const bundledFrom = ['src', 'web', 'tools/bundle-package.ts', 'tools/build-web.ts'];

const dayMs = 86_400_000;

/** The folder of a built package; built once while nothing changes. */
export const builtPackage = async (repo: string): Promise<string> => {
  const read = (paths: readonly string[]) =>
    paths.flatMap((path) => filesAt(join(repo, path)).map((file) => copied(repo, file)));
  const files = new Map<string, string>([...read(packageFiles), ['bin/own-package.js', ownPackage]]);
  const madeOf = JSON.stringify([...files, ...read(bundledFrom), rolldownVersion]);
  const planted = join(repo, 'test/.planted');
  const folder = join(planted, `built-${hash('sha256', madeOf).slice(0, 16)}`);
  if (!fs.existsSync(folder)) {
    fs.mkdirSync(planted, { recursive: true });
    removeOld(planted);
    for (const { fileName, code } of await bundlePackage()) files.set(`dist/${fileName}`, code);
    const building = fs.mkdtempSync(join(planted, 'building-'));
    await buildWeb(join(building, 'dist/web'));
    write(building, files, folder);
  }
  return folder;
};

const filesAt = (path: string): readonly string[] =>
  fs.statSync(path).isFile()
    ? [path]
    : fs
        .readdirSync(path, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && !/\/(?:node_modules|\.cloister)(?:\/|$)/u.test(entry.parentPath))
        .map((entry) => join(entry.parentPath, entry.name));

const copied = (repo: string, file: string) => [relative(repo, file), fs.readFileSync(file, 'utf8')] as const;

/** Imported first by modules in the repository, where `cloister` would otherwise be the source. */
const ownPackage = `import module from 'node:module';
const own = { cloister: '../dist/index.js', 'cloister/testkit': '../dist/testkit.js' };
module.registerHooks({
  resolve: (specifier, context, next) =>
    Object.hasOwn(own, specifier)
      ? { url: new URL(own[specifier], import.meta.url).href, format: 'module', shortCircuit: true }
      : next(specifier, context),
});
`;

/** Two test files may build the same package concurrently: the first wins, and both results are right. */
const write = (building: string, files: ReadonlyMap<string, string>, folder: string): void => {
  for (const [name, text] of files) {
    fs.mkdirSync(dirname(join(building, name)), { recursive: true });
    fs.writeFileSync(join(building, name), text);
  }
  try {
    fs.renameSync(building, folder);
  } catch (error) {
    fs.rmSync(building, { recursive: true });
    if (!fs.existsSync(folder)) throw error;
  }
};

const removeOld = (planted: string): void => {
  for (const name of fs.readdirSync(planted).filter((one) => /^buil(?:t|ding)-/u.test(one))) {
    const made = fs.statSync(join(planted, name), { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
    if (Date.now() - made > dayMs) fs.rmSync(join(planted, name), { recursive: true, force: true });
  }
};
