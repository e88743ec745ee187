// Reads the files the scribe should write from a workspace.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expected } from './expected.ts';

/** In the order of `expected.files`; null when missing. */
export const readFiles = (workspace: string, run: string): readonly (string | null)[] => {
  const folder = join(workspace, 'runs', run);
  const cell = existsSync(folder) ? readdirSync(folder).find((name) => name.startsWith('scribe-')) : undefined;
  return expected.files.map(({ path }) => {
    const file = join(folder, cell ?? '', 'outputs', path);
    return existsSync(file) ? readFileSync(file, 'utf8') : null;
  });
};
