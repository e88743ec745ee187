// The layers as one: first found wins, key by key.
import type { Json, JsonObject } from '#base';
import type { ConfigLayer, ProviderConfig, ServerConfig, SpawnCaps } from '#contracts';
import { builtinProviders, withBuiltin } from './builtin-providers.ts';
import { spawnCapsDefault } from './mail-keys.ts';

/** With the layer that it came from. */
export type ConfigSourced<T> = { readonly value: T; readonly source: string; readonly folder: string };

/** Maps have no prototype: a name that was never configured is never found. */
export type ResolvedConfig = {
  readonly providers: Readonly<Record<string, ConfigSourced<ProviderConfig>>>;
  readonly servers: Readonly<Record<string, ConfigSourced<ServerConfig>>>;
  readonly defaults: JsonObject;
  /** Which layer each default came from. */
  readonly defaultSources: Readonly<Record<string, string>>;
  /** In the order in which they are searched; a relative path starts at its folder. */
  readonly agents: readonly { readonly folder: string; readonly path: string }[];
  /** Who is meant where no agent is named. */
  readonly defaultAgent: string | null;
  /** Variables that are not secret, of all layers. */
  readonly plain: readonly string[];
  /** The most that agent files may spawn. */
  readonly spawns: SpawnCaps;
};

export const resolveConfig = (layers: readonly ConfigLayer[]): ResolvedConfig => {
  const all = [...layers, builtinLayer];
  const defaults = firstFound<Json | undefined>(all, (layer) => layer.defaults);
  return Object.freeze({
    providers: firstFound(all, ({ providers }) => providers, withBuiltin),
    servers: firstFound(all, ({ servers }) => servers),
    defaults: mapValues(defaults, ({ value }) => value),
    defaultSources: mapValues(defaults, ({ source }) => source),
    agents: all.flatMap(({ folder, agents }) => agents.map((path) => ({ folder, path }))),
    defaultAgent: all.find((layer) => layer.defaultAgent !== undefined)?.defaultAgent ?? null,
    plain: [...new Set(all.flatMap(({ plain }) => plain))],
    spawns: Object.freeze(Object.assign({}, ...all.map(({ spawns = {} }) => spawns).toReversed()) as SpawnCaps),
  });
};

const builtinLayer: ConfigLayer = {
  source: 'built in',
  folder: '/',
  providers: builtinProviders,
  servers: {},
  defaults: {},
  agents: [],
  env: {},
  sidecar: {},
  plain: [],
  spawns: spawnCapsDefault,
};

const firstFound = <T>(
  layers: readonly ConfigLayer[],
  part: (layer: ConfigLayer) => Readonly<Record<string, T>>,
  complete: (value: T) => T = (value) => value,
): Readonly<Record<string, ConfigSourced<T>>> => {
  const found = Object.create(null) as Record<string, ConfigSourced<T>>;
  for (const layer of layers)
    for (const [name, value] of Object.entries(part(layer)))
      found[name] ??= { value: complete(value), source: layer.source, folder: layer.folder };
  return Object.freeze(found);
};

const mapValues = <T, U>(map: Readonly<Record<string, T>>, change: (value: T) => U): Readonly<Record<string, U>> => {
  const changed = Object.create(null) as Record<string, U>;
  for (const [name, value] of Object.entries(map)) changed[name] = change(value);
  return Object.freeze(changed);
};
