// Loads the agents to verify from files, modules or code, without keys, servers or providers.
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { modelFacts } from '#adapters/models';
import {
  withChildren,
  findAgent,
  suggestAgent,
  isTeamFile,
  pathKind,
  problemsError,
  providerName,
  findRequiredConfig,
} from '#app/agents';
import type { Configs, LaunchEnvironment, Registry, RequiredConfig } from '#app/agents';
import { agentNameFromPath, CloisterError, isAgentPath } from '#base';
import type { Json } from '#base';
import type { Agent, ModelFacts, ConfigLayer } from '#contracts';
import { fillProvider, fillServer, overlayFor, requiredVariables, listVariables } from '#core/registry';
import type { Subject, Environment } from '#testkit';
import { findRootAgent } from './find-root-agent.ts';

type VerifyTarget = {
  readonly agents: readonly (Agent | string)[];
  /** The name of the agent to verify; default: the only one that no other agent calls. */
  readonly agent?: string;
  /** Selects the agent defined in this file, whatever its name. */
  readonly file?: string;
};

export const loadSubject = async (target: VerifyTarget, configs: Configs): Promise<Subject> => {
  const { loadRegistry } = await import('./agents/registry.ts');
  const registry = await loadRegistry(target.agents, { configs, inspectOnly: true, offline: true });
  const { problems, moduleErrors, agents } = registry;
  if (problems.length === 1 && moduleErrors.length === 1) throw moduleErrors[0]!;
  if (problems.length > 0) throw problemsError(problems);
  const agent = agents.find(({ file }) => file !== null && file === target.file) ?? findRootAgent(agents, target.agent);
  const all = [...withChildren([agent])];
  const facts = await loadModelFacts(all, registry);
  const modules = target.agents.filter((one) => typeof one === 'string').filter((path) => /\.[cm]?[jt]s$/u.test(path));
  return {
    agent,
    notes: modules.map((path) => `${path} was loaded. Only its agents are verified, not what else its code does.`),
    factsOf: ({ file }, model) => facts.get(`${file} ${model}`) ?? {},
    toolsOf: ({ file }, server) => configs.forFile(file).resolved.servers[server]?.value.tools ?? null,
    environment: new FakeEnvironment(registry, all, configs.launch.env['PATH'] ?? ''),
  };
};

/** Whether this is an existing agent file, team file or module. */
export const isSubjectFile = (name: string, { cwd }: LaunchEnvironment): boolean =>
  /\.(?:ai|md|ya?ml|[cm]?[jt]s)$/u.test(name) && pathKind(resolve(cwd, name)) === 'file';

/** Accepts a file, a module, a folder, the name of an agent, or the name of an example of this package. */
export const findSubject = async (
  name: string,
  configs: Configs,
  examples: string,
): Promise<VerifyTarget & { readonly cwd: string }> => {
  const { cwd } = configs.launch;
  const path = resolve(cwd, name);
  if (isSubjectFile(name, configs.launch)) {
    const isFile = isAgentPath(name);
    const which = isFile ? { agent: agentNameFromPath(path) } : isTeamFile(name) ? { file: path } : {};
    return { agents: [path], cwd, ...which };
  }
  const found = await findAgent(name, configs);
  if (found !== null) return { agents: [found], agent: name, cwd };
  const example = join(examples, name);
  if (/^[\w-]+$/u.test(name) && pathKind(example) === 'folder')
    return { ...exampleTarget(example, name), cwd: example };
  if (pathKind(path) === 'folder') return { agents: [path], cwd };
  throw new CloisterError(
    'agent_unknown',
    `No file, agent or example is named "${name.slice(0, 80)}". Examples: ${listExamples(examples).join(', ')}.${await suggestAgent(name, configs)}`,
  );
};

const moduleNames = ['agents.ts', 'agents.js', 'agents.mjs'];
const teamName = 'team.yaml';

const exampleTarget = (folder: string, name: string): VerifyTarget => {
  if (existsSync(join(folder, teamName))) return { agents: [join(folder, teamName)] };
  if (readdirSync(folder).some((file) => file.endsWith('.ai'))) return { agents: [folder] };
  const module = moduleNames.find((file) => existsSync(join(folder, file)));
  if (module !== undefined) return { agents: [join(folder, module)] };
  throw new CloisterError(
    'agent_unknown',
    `The example "${name}" creates its agents at run time, so there is no file to verify.`,
  );
};

const listExamples = (folder: string): readonly string[] =>
  (pathKind(folder) === 'folder' ? readdirSync(folder) : []).filter((name) => {
    const files = pathKind(join(folder, name)) === 'folder' ? readdirSync(join(folder, name)) : [];
    return files.some((file) => file.endsWith('.ai') || file === teamName || moduleNames.includes(file));
  });

const loadModelFacts = async (
  agents: readonly Agent[],
  registry: Registry,
): Promise<ReadonlyMap<string, ModelFacts>> => {
  const facts = new Map<string, ModelFacts>();
  for (const agent of agents)
    for (const model of agent.resources.models) {
      if (typeof model !== 'string') continue;
      const provider = registry.configs.forFile(agent.file).resolved.providers[providerName(model)]?.value;
      const id = model.slice(model.indexOf('/') + 1);
      if (provider !== undefined)
        facts.set(`${agent.file} ${model}`, { ...(await modelFacts(provider.type, id)), ...provider.models?.[id] });
    }
  return facts;
};

// Fills the config of providers and servers with fake values for every variable, using the same code as real runs.
class FakeEnvironment implements Environment {
  readonly #registry: Registry;
  readonly #path: string;
  /** The variables that any of the agents names, and those that are required. */
  readonly #named: ReadonlySet<string>;
  readonly #required: ReadonlySet<string>;

  constructor(registry: Registry, agents: readonly Agent[], path: string) {
    this.#registry = registry;
    this.#path = path;
    const declared = agents.flatMap((agent) => declaredConfigs(this.#needs(agent)));
    this.#named = new Set(declared.flatMap(listVariables));
    this.#required = new Set(declared.flatMap(requiredVariables));
  }

  /** Does not use the code under test: a variable that it wrongly reveals must not count as the agent's own. */
  variablesOf(agent: Agent): readonly string[] {
    const layers = this.#layers(agent, (slot) => slot);
    const sources = [...layers.map(({ env }) => env), ...layers.map(({ sidecar }) => sidecar)];
    return declaredConfigs(this.#needs(agent))
      .flatMap(listVariables)
      .flatMap((name) => sources.find((values) => Object.hasOwn(values, name))?.[name] ?? []);
  }

  #needs(agent: Agent): RequiredConfig {
    return findRequiredConfig(agent.resources, this.#registry.configs.forFile(agent.file).resolved);
  }

  fill(agent: Agent, valueOf: (slot: string) => string): Json {
    const needs = this.#needs(agent);
    const { overlay } = overlayFor(declaredConfigs(needs), this.#layers(agent, valueOf));
    const providers = [...needs.providers].map(([name, { value }]): Json =>
      value.type === 'rehearsal' ? { name, script: value.script } : { ...fillProvider(name, value, overlay) },
    );
    const servers = [...needs.servers].map(([name, { sourced }]): Json => {
      const { value, folder } = sourced;
      if (value.type === 'module') return { name, module: value.module };
      return { ...fillServer(name, value, overlay, { folder, path: this.#path }) };
    });
    return [providers, servers];
  }

  /** The same variables in the same layers, with other values; required variables that are not set go into an extra last layer. */
  #layers({ file }: Agent, valueOf: (slot: string) => string): readonly ConfigLayer[] {
    const pretend = (values: Readonly<Record<string, string>>, where: string): Record<string, string> =>
      Object.fromEntries(
        Object.entries(values).flatMap(([name, value]) =>
          this.#named.has(name) && value !== '' ? [[name, valueOf(`${name} (${where})`)]] : [],
        ),
      );
    const layers = this.#registry.configs.forFile(file).layers.map((layer) => ({
      ...layer,
      env: pretend(layer.env, `env of ${layer.source}`),
      sidecar: pretend(layer.sidecar, layer.source),
    }));
    const isSet = (name: string): boolean =>
      layers.some(({ env, sidecar }) => Object.hasOwn(env, name) || Object.hasOwn(sidecar, name));
    const unset = [...this.#required].filter((name) => !isSet(name));
    return [
      ...layers,
      { ...emptyLayer, sidecar: Object.fromEntries(unset.map((name) => [name, valueOf(`${name} (not set)`)])) },
    ];
  }
}

const declaredConfigs = ({ providers, servers }: RequiredConfig) => [
  ...[...providers.values()].map(({ value }) => value),
  ...[...servers.values()].map(({ sourced }) => sourced.value),
];

const emptyLayer: ConfigLayer = {
  source: 'nowhere',
  folder: '/',
  providers: {},
  servers: {},
  defaults: {},
  agents: [],
  env: {},
  sidecar: {},
  plain: [],
};
