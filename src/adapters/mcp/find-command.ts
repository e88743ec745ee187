// Where a command is, looked up in the environment that the process will have, not in ours.
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, resolve } from 'node:path';
import { CloisterError } from '#base';
import type { StdioServer } from './server.ts';

/** An absolute path. */
export const findCommand = async ({ name, command, cwd, env }: StdioServer): Promise<string> => {
  const where = `mcpServers.${name}`;
  if (!(await isFolder(cwd))) throw new CloisterError('config_invalid', `${where}.cwd: there is no folder ${cwd}.`);
  const path = env['PATH'] ?? '';
  const folders = command.includes('/') ? [cwd] : path.split(delimiter).filter((folder) => folder !== '');
  for (const folder of folders) {
    const file = resolve(cwd, folder, command);
    if (await isProgram(file)) return file;
  }
  const looked = command.includes('/')
    ? `it is not a program that can be started`
    : `it is in no folder of its PATH${path === '' ? ', which is empty' : ''}`;
  throw new CloisterError('server_missing', `Server "${name}" is started by "${command}": ${looked}.`);
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
