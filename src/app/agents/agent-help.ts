// The help for an agent file: `cloister lead.ai --help`.
import { CloisterError } from '#base';
import type { ToolNames } from '#contracts';
import { frontmatterTemplate } from '#core/registry';
import { toToolName } from '#core/rules';
import { Configs } from './configs.ts';
import type { LaunchEnvironment } from './launch-environment.ts';
import { problemsError } from './problems.ts';
import { loadRegistry } from './registry.ts';

type AgentFileHelp = ToolNames & {
  readonly name: string;
  readonly description: string;
  readonly usage: string;
  /** Frontmatter with every key, its effective value, and where that value comes from. */
  readonly template: string;
};

/** Works without API keys, but not for a file that cannot be read. */
export const agentHelp = async (path: string, launch: LaunchEnvironment): Promise<AgentFileHelp> => {
  const configs = new Configs(launch);
  const { linked, roots, problems } = await loadRegistry([path], { configs, inspectOnly: true });
  const one = linked.get(roots[0] ?? '');
  if (one === undefined) throw problems.length > 0 ? problemsError(problems) : new CloisterError('agent_unknown', path);
  const { name, frontmatter } = one.file;
  const { toolName = name } = frontmatter;
  const { defaults, resolved } = configs.forFile(one.path);
  return {
    name,
    description: frontmatter.description,
    usage: frontmatter.usage ?? frontmatter.description,
    toolName,
    modelToolName: toToolName(toolName),
    template: frontmatterTemplate({
      own: frontmatter,
      config: defaults,
      configSources: resolved.defaultSources,
    }),
  };
};
