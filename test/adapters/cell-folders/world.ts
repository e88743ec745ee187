// A folder on disk for one test: a jail inside, and a canary outside that nothing may reach.
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { jailedCellFolders } from '#adapters/cell-folders';
import type { CellId, RunId } from '#base';
import type { CellFolder } from '#contracts';

export const canaryText = 'the canary outside';

export type World = {
  readonly top: string;
  readonly root: string;
  readonly outputs: string;
  readonly outside: string;
  readonly canary: string;
  readonly workspace: CellFolder;
};

/** `<top>/outside/canary.txt` beside `<top>/root/runs/r/c/outputs/`, and a neighbour cell with a canary of its own. */
export const makeWorld = (): World => {
  const top = mkdtempSync(join(tmpdir(), 'cloister-jail-'));
  onTestFinished(() => rmSync(top, { recursive: true, force: true }));
  const [root, outside] = [join(top, 'root'), join(top, 'outside')];
  const outputs = join(root, 'runs/r/c/outputs');
  const neighbour = join(root, 'runs/r/neighbour/outputs');
  for (const folder of [outside, outputs, neighbour]) mkdirSync(folder, { recursive: true });
  for (const folder of [outside, neighbour]) writeFileSync(join(folder, 'canary.txt'), canaryText);
  const workspace = jailedCellFolders(root).open('r' as RunId, 'c' as CellId);
  return { top, root, outputs, outside, canary: join(outside, 'canary.txt'), workspace };
};

/** Everything outside the cell's own `outputs/`. */
export const surroundings = ({ top, outputs }: Pick<World, 'top' | 'outputs'>): readonly string[] =>
  treeOf(top, outputs);

/** Names, kinds, links, times and contents below a folder. No link is followed. */
export const treeOf = (top: string, except?: string): readonly string[] => {
  const lines: string[] = [];
  const look = (path: string): void => {
    if (path === except) return;
    const stat = lstatSync(path);
    lines.push(`${path} ${stat.mode} ${stat.nlink} ${stat.isDirectory() && except === undefined ? '' : stat.mtimeMs}`);
    if (stat.isFile() && stat.size < 10_000) lines.push(readFileSync(path, 'latin1'));
    if (stat.isSymbolicLink()) lines.push(readlinkSync(path));
    if (stat.isDirectory()) for (const name of readdirSync(path).sort()) look(join(path, name));
  };
  look(top);
  return lines;
};

/** How many descriptors of this process lead below `top`. */
export const descriptorsBelow = (top: string): number =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(top);
    } catch {
      return false;
    }
  }).length;
