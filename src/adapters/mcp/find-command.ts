// Finds a command in the environment that the process will have, not in ours.
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, resolve } from 'node:path';
import { CloisterError } from '#base';
import type { StdioServer } from './server.ts';

/** Returns an absolute path. */
export const findCommand = async ({ name, command, cwd, env }: StdioServer): Promise<string> => {
  const where = `mcpServers.${name}`;
  if (!(await isFolder(cwd)))
    throw new CloisterError('config_invalid', `${where}.cwd: the folder ${cwd} does not exist.`);
  const path = env['PATH'] ?? '';
  const folders = command.includes('/') ? [cwd] : path.split(delimiter).filter((folder) => folder !== '');
  for (const folder of folders) {
    const file = resolve(cwd, folder, command);
    if (await isProgram(file)) return file;
  }
  const problem = command.includes('/')
    ? 'is not an executable file'
    : `was not found on its PATH${path === '' ? ', which is empty' : ''}`;
  throw new CloisterError('server_missing', `Server "${name}": the command "${command}" ${problem}.`);
};

const isFolder = async (path: string): Promise<boolean> => {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
};

const isProgram = async (path: string): Promise<boolean> => {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
};
