// Builds the published package: a few JavaScript files in dist/, declarations in dist/types/, the studio's page in dist/web/.
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buildWeb } from './build-web.ts';
import { bundlePackage } from './bundle-package.ts';

const dist = process.argv[2] ?? 'dist';
const types = `${dist}/types`;

/** The file that an import in a declaration means; undefined for other packages. `#base/shapes` is `base/shapes/index`. */
const importedFile = (file: string, specifier: string): string | undefined => {
  if (specifier.startsWith('.')) return join(dirname(file), specifier.replace(/\.ts$/u, '.d.ts'));
  return specifier.startsWith('#') ? join(types, specifier.slice(1), 'index.d.ts') : undefined;
};

/** Declarations that no exported type leads to are of no use to anybody. */
const removeUnreachable = (entries: readonly string[]): void => {
  const reached = new Set(entries.map((entry) => join(types, entry)));
  for (const file of reached)
    for (const [, specifier = ''] of readFileSync(file, 'utf8').matchAll(
      /(?:from |import\(|import )['"]([^'"]+)['"]/gu,
    )) {
      const imported = importedFile(file, specifier);
      if (imported !== undefined) reached.add(imported);
    }
  for (const file of globSync(`${types}/**/*.d.ts`)) if (!reached.has(file)) rmSync(file);
};

rmSync(dist, { recursive: true, force: true });
execFileSync('tsc', ['-p', 'tsconfig.build.json', '--outDir', types], { stdio: 'inherit' });
removeUnreachable(['app/index.d.ts', 'app/testkit.d.ts']);
for (const { fileName, code } of await bundlePackage()) writeFileSync(`${dist}/${fileName}`, code);
await buildWeb(`${dist}/web`);
