// What the config tells providers and servers when every variable has a made-up value: by the code that tells it in earnest.
import type { Json } from '#base';
import type { Agent, ConfigLayer } from '#contracts';
import { fillProvider, fillServer, overlayFor, requiredOf, variablesOf } from '#core/registry';
import type { Environment } from '#testkit';
import { needsOf } from './agents/required-config.ts';
import type { Needs } from './agents/required-config.ts';
import type { Registry } from './agents/registry.ts';

export class FakeEnvironment implements Environment {
  readonly #registry: Registry;
  readonly #path: string;
  /** The variables that any of the agents names, and those that one cannot do without. */
  readonly #named: ReadonlySet<string>;
  readonly #required: ReadonlySet<string>;

  constructor(registry: Registry, agents: readonly Agent[], path: string) {
    this.#registry = registry;
    this.#path = path;
    const declared = agents.flatMap((agent) => declaredOf(this.#needs(agent)));
    this.#named = new Set(declared.flatMap(variablesOf));
    this.#required = new Set(declared.flatMap(requiredOf));
  }

  /** Not by the code that is looked at: what it tells too much must not pass for an agent's own. */
  slotsOf(agent: Agent): readonly string[] {
    const layers = this.#layers(agent, (slot) => slot);
    const places = [...layers.map(({ env }) => env), ...layers.map(({ sidecar }) => sidecar)];
    return declaredOf(this.#needs(agent))
      .flatMap(variablesOf)
      .flatMap((name) => places.find((values) => Object.hasOwn(values, name))?.[name] ?? []);
  }

  #needs(agent: Agent): Needs {
    return needsOf(agent, this.#registry.configs.of(agent.file).resolved);
  }

  fill(agent: Agent, valueOf: (slot: string) => string): Json {
    const needs = this.#needs(agent);
    const { overlay } = overlayFor(declaredOf(needs), this.#layers(agent, valueOf));
    const providers = [...needs.providers].map(([name, { value }]): Json =>
      value.type === 'rehearsal' ? { name, script: value.script } : { ...fillProvider(name, value, overlay) },
    );
    const servers = [...needs.servers].map(([name, { placed }]): Json => {
      const { value, folder } = placed;
      if (value.type === 'module') return { name, module: value.module };
      return { ...fillServer(name, value, overlay, { folder, path: this.#path }) };
    });
    return [providers, servers];
  }

  /** The same variables in the same places, with other values; what nobody has set, and somebody needs, in a last place. */
  #layers({ file }: Agent, valueOf: (slot: string) => string): readonly ConfigLayer[] {
    const pretend = (values: Readonly<Record<string, string>>, where: string): Record<string, string> =>
      Object.fromEntries(
        Object.entries(values).flatMap(([name, value]) =>
          this.#named.has(name) && value !== '' ? [[name, valueOf(`${name} (${where})`)]] : [],
        ),
      );
    const layers = this.#registry.configs.of(file).layers.map((layer) => ({
      ...layer,
      env: pretend(layer.env, `env of ${layer.source}`),
      sidecar: pretend(layer.sidecar, layer.source),
    }));
    const isSet = (name: string): boolean =>
      layers.some(({ env, sidecar }) => Object.hasOwn(env, name) || Object.hasOwn(sidecar, name));
    const unset = [...this.#required].filter((name) => !isSet(name));
    return [
      ...layers,
      { ...nowhere, sidecar: Object.fromEntries(unset.map((name) => [name, valueOf(`${name} (not set)`)])) },
    ];
  }
}

const declaredOf = ({ providers, servers }: Needs) => [
  ...[...providers.values()].map(({ value }) => value),
  ...[...servers.values()].map(({ placed }) => placed.value),
];

const nowhere: ConfigLayer = {
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
