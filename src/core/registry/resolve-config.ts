// Merges the config layers: for each key, the first layer that has it wins.
import type { Json, JsonObject } from '#base';
import type {
  ApprovalRule,
  ConfigLayer,
  IndeterminatePolicy,
  KeepRules,
  ProviderConfig,
  ServerConfig,
  SlackConfig,
  SpawnCaps,
} from '#contracts';
import { builtinProviders, withBuiltin } from './builtin-providers.ts';
import { spawnCapsDefault } from './mail-keys.ts';

/** A value with the layer it came from. */
export type SourcedConfig<T> = { readonly value: T; readonly source: string; readonly folder: string };

/** The maps have no prototype, so only configured names are found. */
export type ResolvedConfig = {
  readonly providers: Readonly<Record<string, SourcedConfig<ProviderConfig>>>;
  readonly servers: Readonly<Record<string, SourcedConfig<ServerConfig>>>;
  readonly defaults: JsonObject;
  /** The layer each default came from. */
  readonly defaultSources: Readonly<Record<string, string>>;
  /** In search order; a relative path is relative to its folder. */
  readonly agents: readonly { readonly folder: string; readonly path: string }[];
  /** Folders whose skills agent files may name. */
  readonly skills: readonly { readonly folder: string; readonly path: string }[];
  /** `<provider>/<model>` by the names that agents of other runtimes use. */
  readonly modelAliases: Readonly<Record<string, string>>;
  /** The agent to use if none is named. */
  readonly defaultAgent: string | null;
  /** What happens to calls that a crash has interrupted; null: nothing is said. */
  readonly indeterminate: IndeterminatePolicy | null;
  /** How long recorded runs are kept: each limit, and the entry of each agent, from the nearest layer that has it; null: nothing is said. */
  readonly keep: KeepRules | null;
  /** Variables of all layers that are not secret. */
  readonly plain: readonly string[];
  /** The spawn limits of agent files. */
  readonly spawns: SpawnCaps;
  /** The marks of all layers: a nearer layer replaces the rule of a tool, and no layer removes its mark. */
  readonly approve: Readonly<Record<string, ApprovalRule>>;
  /** Of the first layer that has one, whole: its tokens belong to its team. */
  readonly slack: SourcedConfig<SlackConfig> | null;
};

export const resolveConfig = (layers: readonly ConfigLayer[]): ResolvedConfig => {
  const all = [...layers, builtinLayer];
  const defaults = mergeLayers<Json | undefined>(all, (layer) => layer.defaults);
  return Object.freeze({
    providers: mergeLayers(all, ({ providers }) => providers, withBuiltin),
    servers: mergeLayers(all, ({ servers }) => servers),
    defaults: mapValues(defaults, ({ value }) => value),
    defaultSources: mapValues(defaults, ({ source }) => source),
    agents: all.flatMap(({ folder, agents }) => agents.map((path) => ({ folder, path }))),
    skills: all.flatMap(({ folder, skills = [] }) => skills.map((path) => ({ folder, path }))),
    modelAliases: mapValues(
      mergeLayers(all, ({ modelAliases = {} }) => modelAliases),
      ({ value }) => value,
    ),
    defaultAgent: all.find((layer) => layer.defaultAgent !== undefined)?.defaultAgent ?? null,
    indeterminate: all.find((layer) => layer.indeterminate !== undefined)?.indeterminate ?? null,
    keep: mergeKeepRules(all),
    plain: [...new Set(all.flatMap(({ plain }) => plain))],
    approve: mapValues(
      mergeLayers(all, ({ approve = {} }) => approve),
      ({ value }) => value,
    ),
    slack:
      all.flatMap(({ slack, source, folder }) => (slack === undefined ? [] : [{ value: slack, source, folder }]))[0] ??
      null,
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

const mergeKeepRules = (layers: readonly ConfigLayer[]): KeepRules | null => {
  const farthestFirst = layers.flatMap(({ keep }) => keep ?? []).toReversed();
  if (farthestFirst.length === 0) return null;
  const agents = mapValues(
    mergeLayers(layers, ({ keep }) => keep?.agents ?? {}),
    ({ value }) => value,
  );
  return Object.freeze(Object.assign({}, ...farthestFirst, { agents }) as KeepRules);
};

const mergeLayers = <T>(
  layers: readonly ConfigLayer[],
  part: (layer: ConfigLayer) => Readonly<Record<string, T>>,
  complete: (value: T) => T = (value) => value,
): Readonly<Record<string, SourcedConfig<T>>> => {
  const merged = Object.create(null) as Record<string, SourcedConfig<T>>;
  for (const layer of layers)
    for (const [name, value] of Object.entries(part(layer)))
      merged[name] ??= { value: complete(value), source: layer.source, folder: layer.folder };
  return Object.freeze(merged);
};

const mapValues = <T, U>(map: Readonly<Record<string, T>>, change: (value: T) => U): Readonly<Record<string, U>> => {
  const changed = Object.create(null) as Record<string, U>;
  for (const [name, value] of Object.entries(map)) changed[name] = change(value);
  return Object.freeze(changed);
};
