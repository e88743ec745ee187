// Adds teams to the topology of their agents.
import type { Problem, Topology, TopologyNode } from '#contracts';
import { effectiveLimits, mergeDefaults } from '#core/registry';
import type { LinkedTeam } from './load-team.ts';
import type { Registry } from './registry.ts';

/**
 * Places teams above the agents that they name. How much work a team does depends on its tasks, so only its budget limits the
 * cost of a run.
 */
export const addTeams = <T extends Topology>(
  found: T,
  { teams, linked, configs }: Pick<Registry, 'teams' | 'linked' | 'configs'>,
): T => {
  if (teams.length === 0) return found;
  const { worstCase } = found;
  const display = (path: string): string => linked.get(path)?.file.path ?? path;
  const members = new Set(teams.flatMap((team) => teamFiles(team).map(display)));
  const byFile = new Map(found.tree.map((node) => [node.file, node]));
  /** Agents that run as roots have other defaults than as members. */
  const asMember = (node: TopologyNode, path: string): TopologyNode => {
    const file = linked.get(path)?.file;
    if (file === undefined) return node;
    const { limits = {} } = mergeDefaults(file.frontmatter, configs.forFile(path).defaults);
    return { ...node, limits: effectiveLimits(limits, false) };
  };
  const nodes = teams.map((team): TopologyNode => ({
    name: team.file.name,
    file: team.file.path,
    agents: teamFiles(team).map((path) =>
      asMember(byFile.get(display(path)) ?? bare(display(path), linked.get(path)?.file.name), path),
    ),
  }));
  const bound = (key: 'tokens' | 'usd', other: number | null): number | null => {
    const all = teams.map(({ file }) => file.budget?.[key] ?? null);
    return other === null || all.includes(null) ? null : Math.max(other, ...all.map((one) => one ?? 0));
  };
  const alone = found.tree.filter(({ file }) => !members.has(file));
  return {
    ...found,
    worstCase: {
      agents: null,
      depth: worstCase.depth + 1,
      tokens: bound('tokens', alone.length === 0 ? 0 : worstCase.tokens),
      usd: bound('usd', alone.length === 0 ? 0 : worstCase.usd),
    },
    tree: [...nodes, ...alone],
  };
};

const teamFiles = ({ members, coordinator }: LinkedTeam): readonly string[] =>
  coordinator === null ? members : [coordinator, ...members];

const bare = (file: string, name = file): TopologyNode => ({ name, file, agents: [] });

/** Coordinators without a model, which every run would refuse. */
export const coordinatorProblems = ({ teams, configs }: Pick<Registry, 'teams' | 'configs'>): readonly Problem[] =>
  teams.flatMap(({ path, file }): readonly Problem[] => {
    const { coordinator } = file;
    if (coordinator === undefined || coordinator.agent !== undefined || file.isBroken) return [];
    const own = {
      description: '',
      usage: '',
      output: { format: 'text' },
      ...(coordinator.models && { models: coordinator.models }),
    } as const;
    if (mergeDefaults(own, configs.forFile(path).defaults).models !== undefined) return [];
    return [
      {
        file: file.path,
        line: file.line(['coordinator']),
        key: 'coordinator',
        message: 'No model is set. Set one here, or for all agents in `defaults.models` of .ai-agent.json.',
        nearest: null,
      },
    ];
  });
