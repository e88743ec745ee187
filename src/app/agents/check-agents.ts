// `cloister check`: reports every problem of every file, and the topology and worst-case cost of the agents.
import type {
  Agent,
  CheckReport,
  Frontmatter,
  PassedOverModel,
  Problem,
  SpawnCaps,
  TopologyAgent,
  TopologyMail,
  Warning,
} from '#contracts';
import { modelFacts, similarModel } from '#adapters/models';
import { thinkingTokens, toToolName } from '#core/rules';
import { isMailTool } from '#core/session';
import {
  checkTopology,
  hasUsualAddress,
  mergeDefaults,
  listVariables,
  missingVariablesMessage,
  withCaps,
} from '#core/registry';
import { Configs } from './configs.ts';
import type { Config } from './configs.ts';
import { findPlaces } from './find-places.ts';
import { highestFigures } from './highest-figures.ts';
import { fileWarnings, notLoadedWarnings } from './file-warnings.ts';
import { findRequiredConfig, providerName, runtimeTools } from './required-config.ts';
import type { LaunchEnvironment } from './launch-environment.ts';
import { loadRegistry } from './registry.ts';
import type { Registry } from './registry.ts';
import { selfReference } from './read-agent-files.ts';
import type { LinkedFile } from './read-agent-files.ts';
import { configMarkWarnings } from './check-marks.ts';
import { coordinatorProblems, addTeams } from './check-teams.ts';
import { budgetWarnings } from './check-budgets.ts';
import { secretWarnings } from './check-secrets.ts';
import { checkKeep } from './check-keep.ts';
import { checkSlack } from './check-slack.ts';
import { probeServers, uncheckedWarnings } from './probe-servers.ts';
import { withChildren } from './resources-from-code.ts';

type CheckAgentsOptions = {
  readonly launch: LaunchEnvironment;
  /** Checks each file by itself: looks nothing up and does not follow sub-agents. */
  readonly syntaxOnly?: boolean;
  /** Connects to every tool server that the agents name. */
  readonly connect?: boolean;
};

/** Without paths: the agents here, in the folders of the config, and in the home folder. */
export const checkAgents = async (given: readonly string[], options: CheckAgentsOptions): Promise<CheckReport> => {
  const { launch, syntaxOnly = false, connect = false } = options;
  const configs = new Configs(launch);
  const places = given.length === 0 ? await findPlaces(configs) : null;
  const paths = places?.paths ?? given;
  const registry = await loadRegistry(paths, { configs, syntaxOnly, inspectOnly: !connect });
  const problems = [...registry.problems, ...(places !== null && syntaxOnly ? configs.problems : [])];
  const redact = registry.resolver.redactFor(null);
  const probed = connect ? await probeServers(registry.agents, registry.resolver, configs) : noFindings;
  problems.push(...probed.problems);
  const own = [...withChildren(registry.agents)].flatMap((agent) =>
    agent.resources.tools.flatMap((tool) => uncheckedWarnings(agent, tool)),
  );
  const unchecked = [...own, ...probed.warnings];
  const byPath = new Set<string>();
  for (const { path, file } of places === null ? [] : registry.linked.values())
    if (places !== null && !(await places.isFoundByName(file.name, path))) byPath.add(path);
  const agents = [
    ...[...registry.linked.values()].map(({ path: at, file: { name, path, frontmatter } }) => ({
      ...(places === null ? {} : { from: places.fromOf(at), byName: !byPath.has(at) }),
      name,
      path,
      ...frontmatter,
    })),
    ...registry.teams.flatMap(({ file }) => (file.isBroken ? [] : { ...file, toolName: file.name })),
  ].map(({ name, path: file, description = `The team ${name}.`, toolName = name, ...rest }) => ({
    ...('from' in rest && rest.from !== undefined ? { from: rest.from, byName: rest.byName } : {}),
    name,
    file,
    description,
    toolName,
    modelToolName: toToolName(toolName),
  }));
  const found = syntaxOnly ? emptyTopology : addTeams(await buildTopology(registry), registry);
  if (!syntaxOnly) problems.push(...startProblems(registry, found.warnings), ...coordinatorProblems(registry));
  const slack = syntaxOnly
    ? noSlack
    : await checkSlack(
        configs,
        registry.agents.map(({ name }) => name),
      );
  problems.push(...slack.problems);
  const kept = syntaxOnly
    ? { keep: null, warnings: [] }
    : checkKeep(
        configs,
        registry.agents.map(({ name }) => name),
      );
  return {
    ok: problems.length === 0,
    agents: agents.sort((one, other) => (one.file < other.file ? -1 : 1)),
    problems: problems.sort(byLocation),
    ...(slack.needs === null ? {} : { slack: slack.needs }),
    ...(kept.keep === null ? {} : { keep: kept.keep }),
    ...found,
    warnings: [
      ...found.warnings.filter(({ code }) => code !== 'unpriced'),
      ...notLoadedWarnings(paths, launch),
      ...fileWarnings(registry),
      ...registry.warnings,
      ...passedOverWarnings(registry),
      ...(syntaxOnly ? [] : await unknownModelWarnings(registry)),
      ...secretWarnings(registry),
      ...kept.warnings,
      ...(syntaxOnly ? [] : [...configWarnings(registry), ...configMarkWarnings(registry.agents, configs)]),
      ...unchecked.map((warning) => ({ ...warning, message: redact?.text(warning.message) ?? warning.message })),
    ],
  };
};

const noSlack = { problems: [], needs: null };

const noFindings: Awaited<ReturnType<typeof probeServers>> = { problems: [], warnings: [] };

/** Agents that every run would refuse: no model, or no price although spending is capped. */
const startProblems = ({ linked, configs }: Registry, warnings: readonly Warning[]): readonly Problem[] => {
  const unpriced = Map.groupBy(
    warnings.filter(({ code }) => code === 'unpriced'),
    ({ agent }) => agent,
  );
  return [...linked.values()].flatMap(({ path, file }): readonly Problem[] => {
    const { models } = mergeDefaults(file.frontmatter, configs.forFile(path).defaults);
    const problem = (key: string, message: string): Problem => ({
      file: file.path,
      line: file.lines[key] ?? null,
      key,
      message,
      nearest: null,
    });
    if (models === undefined)
      return [
        problem('models', 'No model is set. Set one here, or for all agents in `defaults.models` of .ai-agent.json.'),
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

const byLocation = (one: CheckReport['problems'][number], other: CheckReport['problems'][number]): number => {
  if (one.file !== other.file) return one.file < other.file ? -1 : 1;
  return (one.line ?? 0) - (other.line ?? 0);
};

/** One for each agent and model, however many callers an agent has. If no model is left, that is a problem, except for a compactor. */
const passedOverModels = ({ agents, resolver }: Registry) => {
  const found = new Map<string, PassedOverModel & { readonly agent: Agent }>();
  const all = withChildren(agents);
  const compactors = new Set([...all].map(({ children: { compactor } }) => compactor));
  for (const agent of all) {
    const lacking = compactors.has(agent) ? resolver.lackingModels(agent) : (resolver.passedOver(agent) ?? []);
    for (const one of lacking) found.set(JSON.stringify([agent.file, agent.name, one.model]), { ...one, agent });
  }
  return [...found.values()];
};

const passedOverWarnings = (registry: Registry): readonly Warning[] =>
  passedOverModels(registry).map(({ agent, model, missing }) => ({
    code: 'model-passed-over',
    agent: agent.name,
    message: `\`${agent.name}\`: ${model} is passed over. ${missingVariablesMessage(missing)}.`,
  }));

/** Once for each, in the name of the first agent that the layer applies to. */
const configWarnings = ({ linked, configs }: Registry): readonly Warning[] => {
  const warnings = new Map<string, Warning>();
  for (const { path, file } of linked.values())
    for (const message of configs.forFile(path).layers.flatMap((layer) => layer.warnings ?? []))
      if (!warnings.has(message)) warnings.set(message, { code: 'env-quotes', agent: file.name, message });
  return [...warnings.values()];
};

/** Never more than a warning: new models appear all the time. */
const unknownModelWarnings = async ({ linked, configs }: Registry): Promise<readonly Warning[]> => {
  const warnings: Warning[] = [];
  for (const { path, file } of linked.values()) {
    const { defaults, resolved } = configs.forFile(path);
    for (const name of mergeDefaults(file.frontmatter, defaults).models ?? []) {
      const provider = resolved.providers[providerName(name)]?.value;
      const id = name.slice(name.indexOf('/') + 1);
      if (provider === undefined || provider.models?.[id] !== undefined || !hasUsualAddress(provider)) continue;
      const near = await similarModel(provider.type, id);
      if (near !== null)
        warnings.push({
          code: 'model-unknown',
          agent: file.name,
          message: `\`${file.name}\`: ${name} is not among the models that this version knows. Did you mean "${providerName(name)}/${near}"?`,
        });
    }
  }
  return warnings;
};

/** Random letters and digits of this length always pass the estimate. */

/** Runs start at the files that no other file names. */
const buildTopology = async (registry: Registry) => {
  const { linked, roots, configs, agents: built } = registry;
  const unused = Map.groupBy(passedOverModels(registry), ({ agent }) => agent.file);
  const agents: TopologyAgent[] = [];
  const byFile = new Map([...withChildren(built)].map((agent) => [agent.file, agent]));
  for (const one of linked.values()) {
    const without = unused.get(one.path)?.map(({ model }) => model) ?? [];
    const agent = await topologyAgent(one, configs.forFile(one.path), without);
    const { resources, definition } = byFile.get(one.path) ?? {};
    agents.push({
      ...agent,
      skills: (resources?.skills ?? []).map(({ name }) => name),
      approve: definition?.approve ?? {},
      asks: definition?.asks ?? false,
    });
  }
  const named = new Set([...linked.values()].flatMap((one) => [...one.agents.map(({ path }) => path), ...one.spawns]));
  const topLevel = roots.filter((path) => linked.has(path) && !named.has(path));
  const deepest = Math.max(0, ...[...linked.keys()].map((path) => configs.forFile(path).resolved.spawns.depth));
  const found = checkTopology(agents, topLevel.length > 0 ? topLevel : roots, { depthMax: deepest });
  return withDisplayPaths({ ...found, warnings: [...found.warnings, ...budgetWarnings(built, agents)] }, linked);
};

/** `without`: the models that runs pass over. They cost nothing and reach nothing. */
const topologyAgent = async (
  linked: LinkedFile,
  config: Config,
  without: readonly string[],
): Promise<TopologyAgent> => {
  const { path, file, agents } = linked;
  const merged = mergeDefaults(file.frontmatter, config.defaults);
  const { tools = [], limits = {}, budget = {} } = merged;
  const models = (merged.models ?? []).filter((name) => !without.includes(name));
  const { providers, servers } = findRequiredConfig(
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
        const provider = providers.get(providerName(name))?.value;
        const id = name.slice(name.indexOf('/') + 1);
        const facts = { ...(provider && (await modelFacts(provider.type, id))), ...provider?.models?.[id] };
        return { name, ...highestFigures(facts), variables: provider === undefined ? [] : listVariables(provider) };
      }),
    ),
    tools: merged.gather === undefined ? tools : [...tools, 'gather'],
    servers: [...servers].map(
      ([
        name,
        {
          sourced: { value },
        },
      ]) => ({
        name,
        variables: listVariables(value),
        untrustedText: value.untrustedText ?? value.trusted !== true,
      }),
    ),
    explicit: explicitSettings(file.frontmatter),
    mail: topologyMail(linked, config.resolved.spawns),
  };
};

const topologyMail = ({ file, spawns }: LinkedFile, caps: SpawnCaps): TopologyMail => {
  const { spawns: rules, messages = null, topics = [], tools = [] } = file.frontmatter;
  const { hear = [], say = [] } = 'length' in topics ? { hear: topics, say: topics } : topics;
  return {
    spawns: rules === undefined ? null : topologySpawns(rules, spawns, { caps, tools }),
    messages,
    topics: { hear, say },
  };
};

type Bounds = { readonly caps: SpawnCaps; readonly tools: readonly string[] };

const topologySpawns = (
  rules: NonNullable<Frontmatter['spawns']>,
  files: readonly string[],
  { caps, tools }: Bounds,
) => {
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

const explicitSettings = ({ tools, limits, budget }: Frontmatter): TopologyAgent['explicit'] => ({
  tools: tools !== undefined,
  timeout: limits?.timeout_ms !== undefined || budget?.ms !== undefined,
  limits: limits ?? {},
});

/** The tree with display paths. */
const withDisplayPaths = (topology: ReturnType<typeof checkTopology>, linked: Registry['linked']) => {
  const show = (node: (typeof topology.tree)[number]): (typeof topology.tree)[number] => ({
    ...node,
    file: linked.get(node.file)?.file.path ?? node.file,
    agents: node.agents.map(show),
  });
  return { ...topology, tree: topology.tree.map(show) };
};
