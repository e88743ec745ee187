// Finds an agent by name: in the working folder, in the folders of the config, or in the home folder.
import { join } from 'node:path';
import type { Configs } from './configs.ts';
import { pathKind } from './find-files.ts';
import { findByName } from './read-agent-files.ts';

export const findAgent = async (name: string, configs: Configs): Promise<string | null> => {
  if (name.includes('/')) return null;
  const here = join(configs.launch.cwd, `${name}.ai`);
  if (pathKind(here) === 'file') return here;
  await configs.read([]);
  return findByName(name, configs.forFile(null).folders);
};
