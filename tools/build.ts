// Builds the published package: a few JavaScript files in dist/ and declarations in dist/types/.
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { bundlePackage } from './bundle-package.ts';

const dist = process.argv[2] ?? 'dist';
rmSync(dist, { recursive: true, force: true });
execFileSync('tsc', ['-p', 'tsconfig.build.json', '--outDir', `${dist}/types`], { stdio: 'inherit' });
for (const { fileName, code } of await bundlePackage()) writeFileSync(`${dist}/${fileName}`, code);
