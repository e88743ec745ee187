// Resolves the models and tool sources for the sessions of one Cloister, and the model of a fork.
import { CloisterError, omitUndefined } from '#base';
import type { Agent, Model, SessionResources } from '#contracts';
import { loadPriceList, withKnownFacts } from '#adapters/models';
import { assertAgent, linkSpawns, toModel } from '#core/orchestration';
import { operatorKeyVariable, operatorSecrets, Redactors, storePasswordVariable, storeSecrets } from '#core/registry';
import { Configs, needsConfig, notLookedUp, resourcesFromCode, withChildren } from '#app/agents';
import type { AgentResources } from '#app/agents';
import type { CloisterOptions } from './cloister-options.ts';
import { systemLaunchEnvironment } from './system-world.ts';

type ResolveOptions = {
  readonly configs?: Configs;
  /** Runs can bring values for variables, so those that are missing are reported when a run starts. */
  readonly runsBringEnv?: boolean;
};

/** Agents in code that bring their models and tools need no config, so none is read for them unless it is named. */
export const resolveAgentResources = async (
  options: CloisterOptions,
  { configs = configsFor(options), runsBringEnv = false }: ResolveOptions = {},
): Promise<AgentResources> => {
  const models = (options.models ?? []).map(toModel);
  const inCode = options.agents.filter((agent) => typeof agent !== 'string');
  const agents = inCode.map((agent, index) => assertAgent(agent, `agents[${index}]`));
  const needsNoConfig =
    options.preconnect !== true &&
    options.config === undefined &&
    agents.length === options.agents.length &&
    ![...withChildren(agents)].some(needsConfig);
  const resources = needsNoConfig
    ? codeResources({ agents: linkedAgents(agents, agents), store: options.store }, models, configs)
    : await configResources(options, models, { configs, runsBringEnv });
  await loadPriceList([...models, ...modelsInCode(resources.agents)]);
  return options.offline === true ? offline(resources) : resources;
};

/** Throws `agent_invalid` if an agent names in `spawns` what is not among the known ones. */
export const linkedAgents = (agents: readonly Agent[], known: readonly Agent[]): readonly Agent[] =>
  linkSpawns(agents, {
    known,
    report: (agent, message) => {
      throw new CloisterError('agent_invalid', `Agent "${agent.name}": ${message}`);
    },
  });

/** The config that applies to these options; nothing is read yet. */
export const configsFor = ({ cwd, env, config }: CloisterOptions): Configs =>
  new Configs({ ...systemLaunchEnvironment(), ...omitUndefined({ cwd, env, config }) });

type AgentsInCode = { readonly agents: readonly Agent[]; readonly store: string | undefined };

const codeResources = (
  { agents, store }: AgentsInCode,
  models: readonly Model[],
  { launch }: Configs,
): AgentResources => {
  // Agents in code bring their own values, but the operator's key is known here. No config is read for it.
  const redactors = new Redactors();
  redactors.add(operatorSecrets(launch.env[operatorKeyVariable]));
  redactors.add(storeSecrets([store], launch.env[storePasswordVariable]));
  const fromCode = resourcesFromCode(models);
  const resourcesOf = (agent: Agent): SessionResources => {
    if (needsConfig(agent)) throw notLookedUp(agent);
    return fromCode(agent);
  };
  const find = (model: string): Model => {
    const known = [...models, ...modelsInCode(agents)].map(withKnownFacts);
    const found = known.find(({ language }) => `${language.provider}/${language.modelId}` === model);
    if (found !== undefined) return found;
    const names = known.map(({ language }) => `${language.provider}/${language.modelId}`);
    throw new CloisterError('provider_unknown', `"${model}" is not one of: ${[...new Set(names)].join(', ')}.`);
  };
  return {
    agents,
    redactFor: () => redactors.forEveryone,
    resourcesFor: (agent, model) =>
      model === undefined ? resourcesOf(agent) : { ...resourcesOf(agent), models: [find(model)] },
    modelsOf: (agent) => resourcesOf(agent).models,
    contextTokens: (agent) => {
      const [first = models[0]] = agent.resources.models;
      return typeof first === 'object' ? first.contextTokens : undefined;
    },
    prepare: async (_agent, model) => void find(model),
  };
};

const modelsInCode = (agents: readonly Agent[]): readonly Model[] =>
  [...withChildren(agents)].flatMap(({ resources }) => resources.models.filter((model) => typeof model !== 'string'));

const configResources = async (
  options: CloisterOptions,
  models: readonly Model[],
  { configs, runsBringEnv }: Required<ResolveOptions>,
): Promise<AgentResources> => {
  const { openRegistry } = await import('./agents/registry.ts');
  return openRegistry(options.agents, {
    configs,
    models,
    preconnect: options.preconnect ?? false,
    offline: options.offline ?? false,
    parallel: options.parallel,
    store: options.store,
    runsBringEnv,
  });
};

/** Models and sources with the same names, prices and sizes, none of which can be reached. */
const offline = (resources: AgentResources): AgentResources => ({
  agents: resources.agents,
  redactFor: (agent, models) => resources.redactFor(agent, models),
  contextTokens: (agent) => resources.contextTokens?.(agent),
  modelsOf: (agent) => resources.modelsOf(agent),
  prepare: (agent, model, options) => resources.prepare(agent, model, options),
  withEnv: (env) => offline(resources.withEnv?.(env) ?? resources),
  ownVariables: (agents) => resources.ownVariables?.(agents) ?? [],
  withMarks: (agent) => resources.withMarks?.(agent) ?? agent,
  resourcesFor: (agent, model, without) => {
    const { models, sources } = resources.resourcesFor(agent, model, without);
    return {
      models: models.map((one) => ({ ...one, language: unreachableModel(one.language) })),
      sources: sources.map(({ source, only }) => ({ source: { name: source.name, list: unreachable }, only })),
    };
  },
});

const unreachableModel = ({ provider, modelId }: Model['language']): Model['language'] => ({
  specificationVersion: 'v4',
  provider,
  modelId,
  supportedUrls: {},
  doGenerate: unreachable,
  doStream: unreachable,
});

const unreachable = async (): Promise<never> => {
  throw new CloisterError('offline');
};
