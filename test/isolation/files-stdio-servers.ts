// Server processes for some cells of the team; what each received is read from its records.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CellName } from './agent-folder.ts';
import { hostOf } from './agent-folder.ts';
import { watchedMark } from './files-cells.ts';
import type { StdioServers } from './files-run.ts';
import { plainState } from './files-vary.ts';
import type { Shape, State } from './files-vary.ts';
import type { Observation } from './observer.ts';

const script = fileURLToPath(new URL('recording-stdio-server.js', import.meta.url));

export const stdioServersFor = (root: string, cells: readonly CellName[], shape: Shape, state: State): StdioServers => {
  const logs = (cell: CellName): string => join(root, 'told', hostOf(cell));
  return {
    has: (cell) => cells.includes(cell),
    stdioServer: (cell) => {
      if (!cells.includes(cell)) return null;
      const { results } = cell === shape.varied ? state : plainState(cell);
      return {
        command: process.execPath,
        args: [script, logs(cell), Buffer.from(results).toString('base64'), '--team', '${TEAM}'],
        env: { BOX_TOKEN: '${TOKEN}' },
      };
    },
    seen: async (cell) => (cells.includes(cell) ? readReceived(cell, logs(cell)) : []),
  };
};

/** What the process of the watched session received; other sessions of the same agent are their caller's business. */
const readReceived = async (cell: CellName, folder: string): Promise<readonly Observation[]> => {
  const names = await readdir(folder).catch(() => []);
  const records = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return records
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
