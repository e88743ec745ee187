// What is allowed and still worth a second look.
import type { TopologyAgent, Warning } from '#contracts';
import type { Graph } from './topology-graph.ts';
import { findExposurePaths } from './topology-exposure.ts';
import type { ExposurePath } from './topology-exposure.ts';

/** Words that say when to ask an agent have about so many characters. */
const descriptionCharsMin = 20;
const childTimeoutMs = 60_000;

/** Kind by kind, each in the order of the agents. */
export const warningsOf = (graph: Graph, levelsMax: number): readonly Warning[] => [
  ...secretWarnings(graph, levelsMax),
  ...childWarnings(graph),
  ...priceWarnings(graph),
  ...unreachedWarnings(graph, levelsMax),
];

const secretWarnings = (graph: Graph, levelsMax: number): readonly Warning[] => {
  const { agents } = graph;
  const readers = placesOf(agents, ({ servers }) => servers.some(({ untrustedText }) => untrustedText));
  const holders = placesOf(agents, (agent) => secretsOf(agent).length > 0);
  const { shown, more, isLeast } = findExposurePaths(graph, readers, holders, levelsMax);
  const warnings = shown.map((way) => secretWarning(agents, way));
  if (more === 0 && !isLeast) return warnings;
  const pairs = 'pairs of an agent that reads strangers’ words and one that holds a secret';
  const message =
    more === 0
      ? `there may be more ${pairs}: too many ways to follow`
      : `and ${isLeast ? 'at least ' : ''}${more} more ${pairs}`;
  return [...warnings, { code: 'untrusted-reaches-secret', agent: warnings.at(-1)?.agent ?? agents[0]!.name, message }];
};

const secretWarning = (agents: readonly TopologyAgent[], way: ExposurePath): Warning => {
  const names = way.map((place) => agents[place]!.name);
  const holder = agents[way.at(-1)!]!;
  const [reader = ''] = names;
  const secrets = secretsOf(holder).join(', ');
  return {
    code: 'untrusted-reaches-secret',
    agent: holder.name,
    message:
      way.length === 1
        ? `text fetched by \`${reader}\` reaches the same agent’s servers, which hold ${secrets}`
        : `text fetched by \`${reader}\` can reach \`${holder.name}\`, which holds ${secrets}: ${names.join(' → ')}`,
  };
};

/** Of its servers: a provider's key is in no tool's hands. */
const secretsOf = ({ servers }: TopologyAgent): readonly string[] => [
  ...new Set(servers.flatMap(({ variables }) => variables)),
];

const placesOf = (agents: readonly TopologyAgent[], fits: (agent: TopologyAgent) => boolean): ReadonlySet<number> =>
  new Set(agents.flatMap((agent, place) => (fits(agent) ? [place] : [])));

/** Of agents that others may ask. */
const childWarnings = ({ agents, above }: Graph): readonly Warning[] => {
  const sameWords = Map.groupBy(agents, ({ description }) => plainWords(description));
  const children = agents.filter((_, place) => above[place]!.length > 0);
  const warn = (code: Warning['code'], message: (agent: TopologyAgent) => string | null): readonly Warning[] =>
    children.flatMap((agent) => {
      const words = message(agent);
      return words === null ? [] : [{ code, agent: agent.name, message: words }];
    });
  return [
    ...warn('tools-not-named', ({ name, explicit }) =>
      explicit.tools ? null : `\`${name}\` names no tools, so it has none: write \`tools: []\` if that is meant`,
    ),
    ...warn('timeout-not-set', ({ name, explicit, limits }) =>
      explicit.timeout
        ? null
        : `\`${name}\` sets no time-out, so it works for ${limits.timeout_ms ?? childTimeoutMs} ms at most: set \`timeout_ms\``,
    ),
    ...warn('description-vague', (agent) => vagueness(agent, sameWords.get(plainWords(agent.description)) ?? [])),
  ];
};

const vagueness = (
  { name, toolName, file, description }: TopologyAgent,
  same: readonly TopologyAgent[],
): string | null => {
  const words = plainWords(description);
  const advice = 'say what it does and when to ask it';
  const twin = same.find((agent) => agent.file !== file);
  if (words === plainWords(name) || words === plainWords(toolName))
    return `\`${name}\` is described by its name alone: ${advice}`;
  if (twin !== undefined) return `\`${name}\` has the same description as \`${twin.name}\`: ${advice}`;
  if (description.trim().length < descriptionCharsMin)
    return `\`${name}\` is described in ${description.trim().length} characters: ${advice}`;
  return null;
};

/** Letters and digits, for telling whether two texts say the same. */
const plainWords = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();

/** A run with a money budget is refused when a model below it has no price. */
const priceWarnings = ({ agents, below }: Graph): readonly Warning[] => {
  const cappedBy = new Map<number, number>();
  for (const [place, { budget }] of agents.entries()) if (budget.usd !== undefined) cappedBy.set(place, place);
  for (const [place, by] of cappedBy)
    for (const child of below[place]!) if (!cappedBy.has(child)) cappedBy.set(child, by);
  return agents.flatMap(({ name, models }, place) => {
    const by = cappedBy.get(place);
    const unpriced = models.filter(({ price }) => price === null).map((model) => `\`${model.name}\``);
    if (by === undefined || unpriced.length === 0) return [];
    const whose = by === place ? 'its' : `the \`${agents[by]!.name}\` agent’s`;
    const message = `\`${name}\` may use ${unpriced.join(', ')} without a known price, so under ${whose} money budget no run starts: give the price in the config`;
    return [{ code: 'unpriced', agent: name, message }];
  });
};

const unreachedWarnings = ({ agents, levels }: Graph, levelsMax: number): readonly Warning[] =>
  agents.flatMap(({ name }, place) => {
    const level = levels[place]!;
    if (level <= levelsMax) return [];
    const message =
      level === Infinity
        ? `no agent that was given leads to \`${name}\``
        : `\`${name}\` stands ${level} levels down, and no agent is started more than ${levelsMax} down`;
    return [{ code: 'not-reached', agent: name, message }];
  });
