// What teams add to what their agents add up to.
import type { Problem, Topology, TopologyNode } from '#contracts';
import { mergeDefaults } from '#core/registry';
import type { LinkedTeam } from './load-team.ts';
import type { Registry } from './registry.ts';

/**
 * Teams stand above the agents that they name. How much a team does depends on its tasks, so that only its budget bounds what
 * a run of it can cost.
 */
export const withTeams = <T extends Topology>(found: T, { teams, linked }: Pick<Registry, 'teams' | 'linked'>): T => {
  if (teams.length === 0) return found;
  const { worstCase } = found;
  const shown = (path: string): string => linked.get(path)?.file.path ?? path;
  const members = new Set(teams.flatMap((team) => filesIn(team).map(shown)));
  const byFile = new Map(found.tree.map((node) => [node.file, node]));
  const nodes = teams.map((team): TopologyNode => ({
    name: team.file.name,
    file: team.file.path,
    agents: filesIn(team).map((path) => byFile.get(shown(path)) ?? bare(shown(path), linked.get(path)?.file.name)),
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

const filesIn = ({ members, coordinator }: LinkedTeam): readonly string[] =>
  coordinator === null ? members : [coordinator, ...members];

const bare = (file: string, name = file): TopologyNode => ({ name, file, agents: [] });

/** Coordinators that every run would refuse: without a model. */
export const cannotLead = ({ teams, configs }: Pick<Registry, 'teams' | 'configs'>): readonly Problem[] =>
  teams.flatMap(({ path, file }): readonly Problem[] => {
    const { coordinator } = file;
    if (coordinator === undefined || coordinator.agent !== undefined || file.isBroken) return [];
    const own = {
      description: '',
      usage: '',
      output: { format: 'text' },
      ...(coordinator.models && { models: coordinator.models }),
    } as const;
    if (mergeDefaults(own, configs.of(path).defaults).models !== undefined) return [];
    return [
      {
        file: file.path,
        line: file.line(['coordinator']),
        key: 'coordinator',
        message: 'It has no model: name one here, or for all agents in `defaults.models` of .ai-agent.json.',
        nearest: null,
      },
    ];
  });
