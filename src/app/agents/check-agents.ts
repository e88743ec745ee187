// What `cloister check` tells: every problem of every file, and what the agents add up to before a token is spent.
import type {
  CheckReport,
  Frontmatter,
  ModelFacts,
  Price,
  Problem,
  SpawnCaps,
  TopologyAgent,
  TopologyMail,
  Warning,
} from '#contracts';
import { modelFacts } from '#adapters/models';
import { depthMax } from '#core/orchestration';
import { isMailTool, thinkingTokens } from '#core/session';
import { checkTopology, mergeDefaults, variablesOf, withCaps } from '#core/registry';
import type { Config } from './configs.ts';
import { needsOf, providerOf, runtimeTools } from './required-config.ts';
import type { LaunchEnvironment } from './launch-environment.ts';
import { loadRegistry, withoutSecrets } from './registry.ts';
import type { Registry } from './registry.ts';
import { selfReference } from './read-agent-files.ts';
import type { LinkedFile } from './read-agent-files.ts';
import { cannotLead, withTeams } from './check-teams.ts';
import { tryServers } from './probe-servers.ts';

export type CheckAgentsOptions = {
  readonly place: LaunchEnvironment;
  /** Each file by itself: nothing is looked up, sub-agents are not followed. */
  readonly syntaxOnly?: boolean;
  /** Connect to every tool server that is named. */
  readonly connect?: boolean;
};

export const checkAgents = async (paths: readonly string[], options: CheckAgentsOptions): Promise<CheckReport> => {
  const { place, syntaxOnly = false, connect = false } = options;
  const registry = await loadRegistry(paths, { place, syntaxOnly, looking: !connect });
  const problems = [...registry.problems];
  if (connect)
    problems.push(
      ...withoutSecrets(await tryServers(registry.agents, registry.equipping, place), registry.equipping.redact),
    );
  const agents = [
    ...[...registry.linked.values()].map(({ file: { name, path, frontmatter } }) => ({ name, path, ...frontmatter })),
    ...registry.teams.flatMap(({ file }) => (file.isBroken ? [] : file)),
  ].map(({ name, path: file, description = `The team ${name}.` }) => ({ name, file, description }));
  const found = syntaxOnly ? emptyTopology : withTeams(await topologyOf(registry), registry);
  if (!syntaxOnly) problems.push(...cannotStart(registry, found.warnings), ...cannotLead(registry));
  return {
    ok: problems.length === 0,
    agents: agents.sort((one, other) => (one.file < other.file ? -1 : 1)),
    problems: problems.sort(byPlace),
    ...found,
    warnings: [...found.warnings.filter(({ code }) => code !== 'unpriced'), ...shortSecrets(registry)],
  };
};

/** Agents that every run would refuse: without a model, or without a price where money is capped. */
const cannotStart = ({ linked, configs }: Registry, warnings: readonly Warning[]): readonly Problem[] => {
  const unpriced = Map.groupBy(
    warnings.filter(({ code }) => code === 'unpriced'),
    ({ agent }) => agent,
  );
  return [...linked.values()].flatMap(({ path, file }): readonly Problem[] => {
    const { models } = mergeDefaults(file.frontmatter, configs.of(path).defaults);
    const problem = (key: string, message: string): Problem => ({
      file: file.path,
      line: file.lines[key] ?? null,
      key,
      message,
      nearest: null,
    });
    if (models === undefined)
      return [
        problem('models', 'It has no model: name one here, or for all agents in `defaults.models` of .ai-agent.json.'),
      ];
    return (unpriced.get(file.name) ?? []).map(({ message }) => problem('budget', `${message}.`));
  });
};

const emptyTopology: ReturnType<typeof checkTopology> = {
  cycles: [],
  worstCase: { agents: null, depth: 0, tokens: null, usd: null },
  reach: {},
  warnings: [],
  tree: [],
};

const byPlace = (one: CheckReport['problems'][number], other: CheckReport['problems'][number]): number => {
  if (one.file !== other.file) return one.file < other.file ? -1 : 1;
  return (one.line ?? 0) - (other.line ?? 0);
};

const shortSecrets = ({ equipping }: Registry): readonly Warning[] =>
  equipping.tooShort.map(({ agent, names }) => ({
    code: 'secret-short',
    agent,
    message: `${names.join(', ')}: too short to be redacted; use longer ones, or list what is not secret under \`plain\` in .ai-agent.json.`,
  }));

/** Files that nobody else names are where runs begin. */
const topologyOf = async ({ linked, roots, configs }: Registry) => {
  const agents: TopologyAgent[] = [];
  for (const one of linked.values()) agents.push(await topologyAgent(one, configs.of(one.path)));
  const named = new Set([...linked.values()].flatMap((one) => [...one.agents.map(({ path }) => path), ...one.spawns]));
  const tops = roots.filter((path) => linked.has(path) && !named.has(path));
  const deepest = Math.max(depthMax, ...agents.map(({ mail }) => mail?.spawns?.depth ?? 0));
  return shownFiles(checkTopology(agents, tops.length > 0 ? tops : roots, { depthMax: deepest }), linked);
};

const topologyAgent = async (linked: LinkedFile, config: Config): Promise<TopologyAgent> => {
  const { path, file, agents } = linked;
  const merged = mergeDefaults(file.frontmatter, config.defaults);
  const { models = [], tools = [], limits = {}, budget = {} } = merged;
  const { providers, servers } = needsOf(
    { models, servers: tools.filter((tool) => !runtimeTools.includes(tool)) },
    config.resolved,
  );
  return {
    file: path,
    name: file.name,
    toolName: merged.toolName ?? file.name,
    description: merged.description,
    agents: agents.map((child) => child.path),
    limits,
    budget,
    thinkingTokens: thinkingTokens[merged.settings?.reasoning ?? 'none'],
    models: await Promise.all(
      models.map(async (name) => {
        const provider = providers.get(providerOf(name))?.value;
        const id = name.slice(name.indexOf('/') + 1);
        const facts = { ...(provider && (await modelFacts(provider.type, id))), ...provider?.models?.[id] };
        return { name, ...dearest(facts), variables: provider === undefined ? [] : variablesOf(provider) };
      }),
    ),
    tools: merged.gather === undefined ? tools : [...tools, 'gather'],
    servers: [...servers].map(
      ([
        name,
        {
          placed: { value },
        },
      ]) => ({
        name,
        variables: variablesOf(value),
        untrustedText: value.untrustedText ?? value.trusted !== true,
      }),
    ),
    explicit: explicitIn(file.frontmatter),
    mail: mailOf(linked, config.resolved.spawns),
  };
};

const mailOf = ({ file, spawns }: LinkedFile, caps: SpawnCaps): TopologyMail => {
  const { spawns: rules, messages = null, topics = [], tools = [] } = file.frontmatter;
  const { hear = [], say = [] } = 'length' in topics ? { hear: topics, say: topics } : topics;
  return {
    spawns: rules === undefined ? null : spawnsOf(rules, spawns, { caps, tools }),
    messages,
    topics: { hear, say },
  };
};

type Bounds = { readonly caps: SpawnCaps; readonly tools: readonly string[] };

const spawnsOf = (rules: NonNullable<Frontmatter['spawns']>, files: readonly string[], { caps, tools }: Bounds) => {
  const { children, perMinute, depth, templates = false } = withCaps(rules, caps);
  const own = tools.filter((tool) => !isMailTool(tool));
  const given = typeof templates === 'object' ? (templates.tools ?? own) : own;
  return {
    agents: files.filter((path) => path !== selfReference),
    self: files.includes(selfReference),
    children,
    perMinute,
    depth,
    templates: templates === false ? null : given,
  };
};

const dearest = ({ price, contextTokens, maxOutputTokens }: ModelFacts) => ({
  price: price === undefined ? null : highest(price),
  contextTokens: contextTokens ?? null,
  maxOutputTokens: maxOutputTokens ?? null,
});

const highest = ({ tiers = [], ...base }: Price): { input: number; output: number } => ({
  input: Math.max(...[base, ...tiers].map(({ input, cacheWrite = 0 }) => Math.max(input, cacheWrite))),
  output: Math.max(...[base, ...tiers].map(({ output }) => output)),
});

const explicitIn = ({ tools, limits, budget }: Frontmatter): TopologyAgent['explicit'] => ({
  tools: tools !== undefined,
  timeout: limits?.timeout_ms !== undefined || budget?.ms !== undefined,
});

/** The tree with files as people read them. */
const shownFiles = (topology: ReturnType<typeof checkTopology>, linked: Registry['linked']) => {
  const show = (node: (typeof topology.tree)[number]): (typeof topology.tree)[number] => ({
    ...node,
    file: linked.get(node.file)?.file.path ?? node.file,
    agents: node.agents.map(show),
  });
  return { ...topology, tree: topology.tree.map(show) };
};
