// The folder with the team of `cloister demo`.
import { fileURLToPath } from 'node:url';
import { packageFolder } from './package-folder.ts';

export const demoFolder = fileURLToPath(new URL('examples/side-by-side', packageFolder));
