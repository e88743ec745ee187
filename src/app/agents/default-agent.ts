// The agent that is meant where none is named: `defaultAgent` of the config that applies here.
import type { Problem } from '#contracts';
import { Configs } from './configs.ts';
import type { LaunchEnvironment } from './launch-environment.ts';

/** Null when no config names one; then `problems` may say why. */
export const defaultAgentIn = async (
  place: LaunchEnvironment,
): Promise<{ readonly agent: string | null; readonly problems: readonly Problem[] }> => {
  const configs = new Configs(place);
  await configs.read([]);
  return { agent: configs.of(null).resolved.defaultAgent, problems: configs.problems };
};
