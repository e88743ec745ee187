// The agent to use when none is named: `defaultAgent` in the config that applies to the working folder.
import type { Problem } from '#contracts';
import { Configs } from './configs.ts';
import type { LaunchEnvironment } from './launch-environment.ts';

/** `agent` is null when no config names one; `problems` may then say why. */
export const readDefaultAgent = async (
  launch: LaunchEnvironment,
): Promise<{ readonly agent: string | null; readonly problems: readonly Problem[] }> => {
  const configs = new Configs(launch);
  await configs.read([]);
  return { agent: configs.forFile(null).resolved.defaultAgent, problems: configs.problems };
};
