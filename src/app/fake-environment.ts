// Fills the config of providers and servers with fake values for every variable, using the same code as real runs.
import type { Json } from '#base';
import type { Agent, ConfigLayer } from '#contracts';
import { fillProvider, fillServer, overlayFor, requiredVariables, listVariables } from '#core/registry';
import type { Environment } from '#testkit';
import { findRequiredConfig } from '#app/agents';
import type { RequiredConfig, Registry } from '#app/agents';

export class FakeEnvironment implements Environment {
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
