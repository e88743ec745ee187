// What `check` says about `keep` of the config.
import { nearestName } from '#base';
import type { KeepRules, Warning } from '#contracts';
import type { Configs } from './configs.ts';

/** `known`: names of the agents that were given or found. */
export const checkKeep = (
  configs: Configs,
  known: readonly string[],
): { readonly keep: KeepRules | null; readonly warnings: readonly Warning[] } => {
  const { keep } = configs.forFile(null).resolved;
  const warnings = Object.keys(keep?.agents ?? {}).flatMap((agent): readonly Warning[] => {
    // An agent that is gone may have runs; a name that is like another one is a slip.
    const near = known.includes(agent) ? null : nearestName(agent, known);
    if (near === null) return [];
    const message = `\`keep.agents\`: there is no agent "${agent}" here. Did you mean "${near}"?`;
    return [{ code: 'keep-agent-unknown', agent, message }];
  });
  return { keep, warnings };
};
