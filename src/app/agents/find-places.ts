// Where `cloister agents` looks: the working folder and below, the folders of the config, and the home folder.
import { isAbsolute, relative } from 'node:path';
import type { Configs } from './configs.ts';
import { pathKind } from './find-files.ts';
import { findAgent } from './read-agent-files.ts';

type AgentPlaces = {
  readonly paths: readonly string[];
  fromOf(file: string): 'here' | 'config' | 'home';
  /** Whether the name alone means this file. */
  isFoundByName(name: string, file: string): Promise<boolean>;
};

export const findPlaces = async (configs: Configs): Promise<AgentPlaces> => {
  await configs.read([]);
  const folders = configs.forFile(null).folders;
  const home = folders.at(-1)!;
  const ofConfig = folders.slice(0, -1);
  const known = new Map<string, ReadonlyMap<string, string>>();
  return {
    paths: ['.', ...folders.filter((folder) => pathKind(folder) !== 'missing')],
    fromOf: (file) => (isIn(home, file) ? 'home' : ofConfig.some((folder) => isIn(folder, file)) ? 'config' : 'here'),
    isFoundByName: async (name, file) => (await findAgent(name, configs, known)) === file,
  };
};

const isIn = (folder: string, file: string): boolean => {
  const between = relative(folder, file);
  return !between.startsWith('..') && !isAbsolute(between);
};
