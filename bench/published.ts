// The package as published: what people run, without the cost of stripping TypeScript types.
import { execFile } from 'node:child_process';
import { cp, mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../', import.meta.url));

/** Builds the package from this source and lays it out as npm would. Returns its folder. */
export const installInto = async (project: string): Promise<string> => {
  const home = join(project, 'node_modules', 'cloister');
  await mkdir(home, { recursive: true });
  await cp(join(root, 'package.json'), join(home, 'package.json'));
  await symlink(join(root, 'node_modules'), join(home, 'node_modules'), 'junction');
  await run(process.execPath, [join(root, 'tools', 'build.ts'), join(home, 'dist')], { cwd: root });
  return home;
};
