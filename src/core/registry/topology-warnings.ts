// Warnings about settings that are allowed but probably not intended.
import type { TopologyAgent, Warning } from '#contracts';
import type { AgentGraph } from './topology-graph.ts';
import { resolveLimits } from './limits.ts';
import { findExposurePaths } from './topology-exposure.ts';
import type { ExposurePath } from './topology-exposure.ts';

/** A shorter description can hardly say when to call the agent. */
const descriptionCharsMin = 20;

/** Grouped by kind, each in the order of the agents. */
export const agentWarnings = (graph: AgentGraph, levelsMax: number): readonly Warning[] => [
  ...secretWarnings(graph, levelsMax),
  ...childWarnings(graph),
  ...priceWarnings(graph),
  ...unreachedWarnings(graph, levelsMax),
];

const secretWarnings = (graph: AgentGraph, levelsMax: number): readonly Warning[] => {
  const { agents } = graph;
  const readers = indexesWhere(agents, ({ servers }) => servers.some(({ untrustedText }) => untrustedText));
  const holders = indexesWhere(agents, (agent) => serverSecrets(agent).length > 0);
  const { shown, more, isLeast } = findExposurePaths(graph, readers, holders, levelsMax);
  const warnings = shown.map((path) => secretWarning(agents, path));
  if (more === 0 && !isLeast) return warnings;
  const pairs = 'pairs of an agent that reads untrusted text and one that holds a secret';
  const message =
    more === 0
      ? `there may be more ${pairs}: too many paths to follow`
      : `and ${isLeast ? 'at least ' : ''}${more} more ${pairs}`;
  return [...warnings, { code: 'untrusted-reaches-secret', agent: warnings.at(-1)?.agent ?? agents[0]!.name, message }];
};

const secretWarning = (agents: readonly TopologyAgent[], path: ExposurePath): Warning => {
  const names = path.map((index) => agents[index]!.name);
  const holder = agents[path.at(-1)!]!;
  const [reader = ''] = names;
  const secrets = serverSecrets(holder).join(', ');
  return {
    code: 'untrusted-reaches-secret',
    agent: holder.name,
    message:
      path.length === 1
        ? `text fetched by \`${reader}\` reaches the same agent’s servers, which hold ${secrets}`
        : `text fetched by \`${reader}\` can reach \`${holder.name}\`, which holds ${secrets}: ${names.join(' → ')}`,
  };
};

/** Secrets of its servers only: no tool can see a provider's key. */
const serverSecrets = ({ servers }: TopologyAgent): readonly string[] => [
  ...new Set(servers.flatMap(({ variables }) => variables)),
];

const indexesWhere = (agents: readonly TopologyAgent[], fits: (agent: TopologyAgent) => boolean): ReadonlySet<number> =>
  new Set(agents.flatMap((agent, index) => (fits(agent) ? [index] : [])));

/** Warnings about agents that others may call. */
const childWarnings = ({ agents, above }: AgentGraph): readonly Warning[] => {
  const byDescription = Map.groupBy(agents, ({ description }) => normalizeText(description));
  const children = agents.filter((_, index) => above[index]!.length > 0);
  const warn = (code: Warning['code'], message: (agent: TopologyAgent) => string | null): readonly Warning[] =>
    children.flatMap((agent) => {
      const words = message(agent);
      return words === null ? [] : [{ code, agent: agent.name, message: words }];
    });
  return [
    ...warn('tools-not-named', ({ name, explicit }) =>
      explicit.tools ? null : `\`${name}\` lists no tools, so it has none: write \`tools: []\` if that is intended`,
    ),
    ...warn('timeout-not-set', ({ name, explicit, limits }) =>
      explicit.timeout
        ? null
        : `\`${name}\` sets no timeout, so it runs for at most ${resolveLimits(limits, false).timeout_ms} ms: set \`timeout_ms\``,
    ),
    ...warn('description-vague', (agent) =>
      descriptionProblem(agent, byDescription.get(normalizeText(agent.description)) ?? []),
    ),
  ];
};

const descriptionProblem = (
  { name, toolName, file, description }: TopologyAgent,
  same: readonly TopologyAgent[],
): string | null => {
  const words = normalizeText(description);
  const advice = 'say what it does and when to call it';
  const twin = same.find((agent) => agent.file !== file);
  if (words === normalizeText(name) || words === normalizeText(toolName))
    return `\`${name}\` is described only by its name: ${advice}`;
  if (twin !== undefined) return `\`${name}\` has the same description as \`${twin.name}\`: ${advice}`;
  if (description.trim().length < descriptionCharsMin)
    return `\`${name}\` is described in ${description.trim().length} characters: ${advice}`;
  return null;
};

/** Only letters and digits in lower case, to compare texts. */
const normalizeText = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();

/** A run with a dollar budget is refused if a model below it has no price. */
const priceWarnings = ({ agents, below }: AgentGraph): readonly Warning[] => {
  const cappedBy = new Map<number, number>();
  for (const [index, { budget }] of agents.entries()) if (budget.usd !== undefined) cappedBy.set(index, index);
  for (const [index, by] of cappedBy)
    for (const child of below[index]!) if (!cappedBy.has(child)) cappedBy.set(child, by);
  return agents.flatMap(({ name, models }, index) => {
    const by = cappedBy.get(index);
    const unpriced = models.filter(({ price }) => price === null).map((model) => `\`${model.name}\``);
    if (by === undefined || unpriced.length === 0) return [];
    const whose = by === index ? 'its' : `the \`${agents[by]!.name}\` agent’s`;
    const message = `\`${name}\` may use ${unpriced.join(', ')}, whose price is unknown, so no run can start under ${whose} dollar budget: set the price in the config`;
    return [{ code: 'unpriced', agent: name, message }];
  });
};

const unreachedWarnings = ({ agents, levels }: AgentGraph, levelsMax: number): readonly Warning[] =>
  agents.flatMap(({ name }, index) => {
    const level = levels[index]!;
    if (level <= levelsMax) return [];
    const message =
      level === Infinity
        ? `\`${name}\` cannot be reached from the given agents`
        : `\`${name}\` is ${level} levels down, but agents can only be nested ${levelsMax} levels deep`;
    return [{ code: 'not-reached', agent: name, message }];
  });
