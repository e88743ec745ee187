// Where agents are found by name: the working folder, the folders of the config, and the home folder.
import { isAbsolute, relative } from 'node:path';
import type { Configs } from './configs.ts';
import { pathKind } from './find-files.ts';

type AgentPlaces = {
  readonly paths: readonly string[];
  fromOf(file: string): 'here' | 'config' | 'home';
};

export const findPlaces = async (configs: Configs): Promise<AgentPlaces> => {
  await configs.read([]);
  const folders = configs.forFile(null).folders;
  const home = folders.at(-1)!;
  const ofConfig = folders.slice(0, -1);
  return {
    paths: ['.', ...folders.filter((folder) => pathKind(folder) !== 'missing')],
    fromOf: (file) => (isIn(home, file) ? 'home' : ofConfig.some((folder) => isIn(folder, file)) ? 'config' : 'here'),
  };
};

const isIn = (folder: string, file: string): boolean => {
  const between = relative(folder, file);
  return !between.startsWith('..') && !isAbsolute(between);
};
