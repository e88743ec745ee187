// An agent by its name: in the working folder, where the config says, or in the home folder.
import { join } from 'node:path';
import { Configs } from './configs.ts';
import { pathKind } from './find-files.ts';
import type { LaunchEnvironment } from './launch-environment.ts';
import { findByName } from './read-agent-files.ts';

export const findAgent = async (name: string, place: LaunchEnvironment): Promise<string | null> => {
  if (name.includes('/')) return null;
  const here = join(place.cwd, `${name}.ai`);
  if (pathKind(here) === 'file') return here;
  const configs = new Configs(place);
  await configs.read([]);
  return findByName(name, configs.of(null).folders);
};
