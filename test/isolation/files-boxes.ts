// Servers that are processes, for some cells of the team; what each was told is read from what it wrote down.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CellName } from './agent-folder.ts';
import { hostOf } from './agent-folder.ts';
import { watchedMark } from './files-cells.ts';
import type { Boxes } from './files-run.ts';
import { plainState } from './files-vary.ts';
import type { Shape, State } from './files-vary.ts';
import type { Sight } from './observed.ts';

const script = fileURLToPath(new URL('box-stdio.js', import.meta.url));

export const boxesFor = (root: string, cells: readonly CellName[], shape: Shape, state: State): Boxes => {
  const logs = (cell: CellName): string => join(root, 'told', hostOf(cell));
  return {
    has: (cell) => cells.includes(cell),
    box: (cell) => {
      if (!cells.includes(cell)) return null;
      const { results } = cell === shape.varied ? state : plainState(cell);
      return {
        command: process.execPath,
        args: [script, logs(cell), Buffer.from(results).toString('base64'), '--team', '${TEAM}'],
        env: { BOX_TOKEN: '${TOKEN}' },
      };
    },
    seen: async (cell) => (cells.includes(cell) ? readTold(cell, logs(cell)) : []),
  };
};

/** What the process of the watched session was told; other sessions of the same agent are their caller's business. */
const readTold = async (cell: CellName, folder: string): Promise<readonly Sight[]> => {
  const names = await readdir(folder).catch(() => []);
  const told = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return told
    .filter((text) => text.includes(watchedMark))
    .sort()
    .flatMap((text) => {
      const [start = '', ...sent] = text.trimEnd().split('\n');
      const stdin = sent.map((bytes) => JSON.parse(bytes) as string).join('');
      return [
        { sink: `${cell} process: start`, bytes: start },
        { sink: `${cell} process: stdin`, bytes: stdin },
      ];
    });
};
