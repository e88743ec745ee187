// The values of variables that code gives to one run: which resources the run uses because of them, and whether any are missing.
//
//   env-of-one-run. Values that a run is given are used for its sessions only. They are not recorded, only the names of those that
//       its agents use: whoever continues the run must pass them again.
import { CloisterError } from '#base';
import type { AgentResources } from '#app/agents';
import type { Agent, Frame, RunOptions } from '#contracts';
import { readRunEnv } from '#core/registry';
import type { RunEnvironment } from './run-start.ts';

/** Throws `options_invalid`. */
export const resourcesWithEnv = (shared: AgentResources, env: RunOptions['env']): AgentResources => {
  if (env === undefined) return shared;
  const values = readRunEnv(env);
  return shared.withEnv?.(values) ?? shared;
};

/** `forked`: the same agents with the models that forks gave them. Throws `env_missing` if the agent, or one below it, lacks variables. */
export const environmentFor = (
  resources: AgentResources,
  agent: Agent,
  forked: readonly Agent[] = [],
): RunEnvironment => {
  resources.checkVariables?.(agent);
  const names = resources.ownVariables?.([agent, ...forked]) ?? [];
  return names.length === 0 ? { resources } : { resources, ownVariables: names };
};

/**
 * Throws `env_missing` if the run had values of its own that are not given again. Otherwise it would continue with the values of
 * the config, such as the operator's own key.
 */
export const checkEnvPassedAgain = (frames: readonly Frame[], env: RunOptions['env'] = {}): void => {
  const names = frames.flatMap(({ record }) =>
    record.type === 'open' || record.type === 'resume' ? (record.env ?? []) : [],
  );
  const missing = [...new Set(names)].filter((name) => !Object.hasOwn(env, name));
  if (missing.length === 0) return;
  const values = missing.map((name) => `${name}: …`).join(', ');
  throw new CloisterError(
    'env_missing',
    `Missing: ${missing.join(', ')}; code gave the run values of its own, which are not recorded. Continue it from code with { env: { ${values} } }.`,
  );
};
