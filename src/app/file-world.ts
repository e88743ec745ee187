// File access for the command line: reads tasks, writes plans and graphs.
import { access, constants, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { CliFiles, CliTasks } from '#headends/cli';
import { systemLaunchEnvironment } from './system-world.ts';

export const fileWorld: CliFiles = {
  readText: (path) => readFile(path, 'utf8'),
  writeText: (path, text) => writeFile(path, text),
  whyNotWritable: async (path) => {
    const own = await whyNotWritable(path);
    return own === 'missing'
      ? folderProblem(await whyNotWritable(dirname(path)))
      : own === 'folder'
        ? 'it is a folder'
        : own;
  },
};

export const taskWorld: CliTasks = {
  read: async (path, assignees) => {
    const { loadTasks } = await import('./agents/load-tasks.ts');
    return loadTasks(path, assignees, systemLaunchEnvironment());
  },
  ofTeam: async (path) => {
    const { teamTasks } = await import('./agents/load-tasks.ts');
    return teamTasks(path, systemLaunchEnvironment());
  },
  draw: async (form, tasks) => {
    const { drawMermaid, drawSvg } = await import('#core/tasks');
    return form === 'svg' ? drawSvg(tasks) : drawMermaid(tasks);
  },
};

/** Null: the file can be written. */
const whyNotWritable = async (path: string): Promise<string | null> => {
  try {
    const isFolder = (await stat(path)).isDirectory();
    await access(path, constants.W_OK);
    return isFolder ? 'folder' : null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'missing' : 'it is not writable';
  }
};

const folderProblem = (why: string | null): string | null => {
  if (why === 'folder') return null;
  return why === 'missing' ? 'its folder does not exist' : 'its folder is not writable';
};
