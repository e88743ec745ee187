// What `cloister lead.ai --help` tells of an agent file.
import { CloisterError } from '#base';
import { frontmatterTemplate } from '#core/registry';
import type { LaunchEnvironment } from './launch-environment.ts';
import { loadRegistry, problemsError } from './registry.ts';

export type AgentFileHelp = {
  readonly name: string;
  readonly description: string;
  readonly usage: string;
  /** A frontmatter with every key, what holds for it, and where that comes from. */
  readonly template: string;
};

/** Keys that are missing do not stand in the way of help; a file that cannot be read does. */
export const agentHelp = async (path: string, place: LaunchEnvironment): Promise<AgentFileHelp> => {
  const { linked, roots, configs, problems } = await loadRegistry([path], { place, looking: true });
  const one = linked.get(roots[0] ?? '');
  if (one === undefined) throw problems.length > 0 ? problemsError(problems) : new CloisterError('agent_unknown', path);
  const { name, frontmatter } = one.file;
  const { defaults, resolved } = configs.of(one.path);
  return {
    name,
    description: frontmatter.description,
    usage: frontmatter.usage,
    template: frontmatterTemplate({
      own: frontmatter,
      config: defaults,
      configSources: resolved.defaultSources,
    }),
  };
};
