// What the command line reads of tasks, and writes of plans and graphs.
import { access, constants, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { CliWorld } from '#headends/cli';
import { systemPlace } from './system-world.ts';

export const fileWorld: Pick<CliWorld, 'writeText' | 'notWritable' | 'readTasks' | 'teamTasks' | 'drawGraph'> = {
  writeText: (path, text) => writeFile(path, text),
  notWritable: async (path) => {
    const own = await whyNot(path);
    return own === 'missing' ? ofFolder(await whyNot(dirname(path))) : own === 'folder' ? 'it is a folder' : own;
  },
  readTasks: async (path, assignees) => {
    const { loadTasks } = await import('./agents/load-tasks.ts');
    return loadTasks(path, assignees, systemPlace());
  },
  teamTasks: async (path) => {
    const { teamTasks } = await import('./agents/load-tasks.ts');
    return teamTasks(path, systemPlace());
  },
  drawGraph: async (form, tasks) => {
    const { drawMermaid, drawSvg } = await import('#core/tasks');
    return form === 'svg' ? drawSvg(tasks) : drawMermaid(tasks);
  },
};

/** Null: it is a file that can be written. */
const whyNot = async (path: string): Promise<string | null> => {
  try {
    const isFolder = (await stat(path)).isDirectory();
    await access(path, constants.W_OK);
    return isFolder ? 'folder' : null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'missing' : 'it may not be changed';
  }
};

const ofFolder = (why: string | null): string | null => {
  if (why === 'folder') return null;
  return why === 'missing' ? 'its folder is not there' : 'its folder may not be changed';
};
