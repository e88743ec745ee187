// What the sessions of one Cloister are given, and how a fork's model is found.
import { CloisterError, omitUndefined } from '#base';
import type { Agent, Model } from '#contracts';
import { assertAgent } from '#core/orchestration';
import { resourcesFromCode, namesAny, withChildren } from './agents/resources-from-code.ts';
import type { AgentResources } from './agents/agent-resources.ts';
import type { LaunchEnvironment } from './agents/launch-environment.ts';
import type { CloisterOptions } from './cloister-options.ts';
import { systemPlace } from './system-world.ts';

/** Agents in code that bring everything along need no config, and none is read for them. */
export const resolveAgentResources = async (options: CloisterOptions): Promise<AgentResources> => {
  const models = (options.models ?? []).map((model) => ('language' in model ? model : { language: model }));
  const inCode = options.agents.filter((agent) => typeof agent !== 'string');
  const agents = inCode.map((agent, index) => assertAgent(agent, `agents[${index}]`));
  const plain =
    options.preconnect !== true && agents.length === options.agents.length && ![...withChildren(agents)].some(namesAny);
  const equipped = plain ? plainly(agents, models) : await byConfig(options, models);
  return options.offline === true ? offline(equipped) : equipped;
};

/** Where config is looked for. */
export const launchEnvironment = ({ cwd, env, config }: CloisterOptions): LaunchEnvironment => ({
  ...systemPlace(),
  ...omitUndefined({ cwd, env, config }),
});

const plainly = (agents: readonly Agent[], models: readonly Model[]): AgentResources => {
  const equip = resourcesFromCode(models);
  const known = [...models, ...[...withChildren(agents)].flatMap((agent) => agent.models as readonly Model[])];
  const find = (model: string): Model => {
    const found = known.find(({ language }) => `${language.provider}/${language.modelId}` === model);
    if (found !== undefined) return found;
    const names = known.map(({ language }) => `${language.provider}/${language.modelId}`);
    throw new CloisterError('provider_unknown', `"${model}" is not one of: ${[...new Set(names)].join(', ')}.`);
  };
  return {
    agents,
    redact: null,
    equip: (agent, model) => {
      if (namesAny(agent))
        throw new CloisterError(
          'agent_unknown',
          `"${agent.name}" names models or servers of the config: hand it to openCloister.`,
        );
      return model === undefined ? equip(agent) : { ...equip(agent), models: [find(model)] };
    },
    contextTokens: (agent) => {
      const [first = models[0]] = agent.models;
      return typeof first === 'object' ? first.contextTokens : undefined;
    },
    prepare: async (_agent, model) => void find(model),
  };
};

const byConfig = async (options: CloisterOptions, models: readonly Model[]): Promise<AgentResources> => {
  const { openRegistry } = await import('./agents/registry.ts');
  return openRegistry(options.agents, {
    place: launchEnvironment(options),
    models,
    preconnect: options.preconnect ?? false,
    offline: options.offline ?? false,
    parallel: options.parallel,
  });
};

/** The same models and sources by name, prices and sizes; none of them can be reached. */
const offline = (equipped: AgentResources): AgentResources => ({
  agents: equipped.agents,
  redact: equipped.redact,
  contextTokens: (agent) => equipped.contextTokens?.(agent),
  prepare: (agent, model) => equipped.prepare(agent, model),
  equip: (agent, model) => {
    const { models, sources } = equipped.equip(agent, model);
    return {
      models: models.map((one) => ({ ...one, language: deaf(one.language) })),
      sources: sources.map(({ source, only }) => ({ source: { name: source.name, list: unreachable }, only })),
    };
  },
});

const deaf = ({ provider, modelId }: Model['language']): Model['language'] => ({
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
