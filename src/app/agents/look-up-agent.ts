// Looks up what an agent names in the operator's config. What is found holds no values, so all runs share it.
import { CloisterError } from '#base';
import type { Agent, AgentNeeds, ConfigLayer, Overlay, PassedOverModel, SourceUse } from '#contracts';
import { missingVariablesMessage, overlayFor, requiredVariables } from '#core/registry';
import type { Configs } from './configs.ts';
import { prepareModel } from './prepare-model.ts';
import type { FillModel } from './prepare-model.ts';
import { prepareServer } from './prepare-server.ts';
import type { FillServer } from './prepare-server.ts';
import { findRequiredConfig, providerName } from './required-config.ts';
import type { RequiredConfig, UnlocatedProblem } from './required-config.ts';

export type ConfigLookup = {
  readonly agent: Pick<Agent, 'name' | 'file' | 'resources'>;
  /** Those who use it can do without it. */
  readonly isOptional: boolean;
  readonly required: RequiredConfig;
  /** The same providers and servers, with their names for messages. */
  readonly entries: ReturnType<typeof configEntries>;
  readonly layers: readonly ConfigLayer[];
  /** Variables that are not secret. */
  readonly plain: readonly string[];
  readonly models: readonly { readonly name: string; readonly fill: FillModel }[];
  readonly servers: readonly {
    readonly name: string;
    readonly only: readonly string[] | null;
    readonly fill: FillServer;
  }[];
  /** What is wrong with those that are defined, whatever the variables are. */
  readonly failures: readonly UnlocatedProblem[];
};

type LookUpOptions = {
  readonly isOptional: boolean;
  readonly inspectOnly: boolean;
  /** Nothing will be connected to. */
  readonly offline: boolean;
};

export const lookUpAgent = async (
  agent: Agent,
  configs: Configs,
  { isOptional, inspectOnly, offline }: LookUpOptions,
): Promise<ConfigLookup> => {
  const { resolved, layers, unusedMcpFile } = configs.forFile(agent.file);
  const required = findRequiredConfig(agent.resources, resolved, unusedMcpFile);
  const entries = configEntries(required);
  const { name, file, resources } = agent;
  const found = { agent: { name, file, resources }, isOptional, required, entries, layers, plain: resolved.plain };
  if (required.problems.length > 0) return { ...found, models: [], servers: [], failures: [] };

  const { caching, models } = resources;
  const failures: UnlocatedProblem[] = [];
  const prepared: ConfigLookup['models'][number][] = [];
  for (const model of models.filter((one) => typeof one === 'string')) {
    const sourced = required.providers.get(providerName(model))!;
    const prepare = () => prepareModel(model, { sourced, caching, inspectOnly });
    for (const fill of await attempt('models', prepare, failures)) prepared.push({ name: model, fill });
  }
  const servers: ConfigLookup['servers'][number][] = [];
  const { overlay, missing } = overlayFor(
    entries.map(({ value }) => value),
    layers,
  );
  const context = { overlay: withFakeValues(overlay, missing), missing, env: configs.launch.env, inspectOnly };
  for (const [server, { sourced, only }] of required.servers) {
    const prepare = (): Promise<FillServer> => prepareServer(server, only, { ...context, sourced });
    const fills = offline
      ? [() => () => failingSource(server, new CloisterError('offline'))]
      : await attempt('tools', prepare, failures);
    for (const fill of fills) servers.push({ name: server, only, fill });
  }
  return { ...found, models: prepared, servers, failures };
};

/** Returns nothing, and adds to the failures, if something that the operator wrote is wrong. */
const attempt = async <T>(
  key: UnlocatedProblem['key'],
  make: () => T | Promise<T>,
  failures: UnlocatedProblem[],
): Promise<readonly T[]> => {
  try {
    return [await make()];
  } catch (error) {
    failures.push(operatorProblem(key, error));
    return [];
  }
};

/** Rethrows errors that are not the operator's mistake. */
export const operatorProblem = (key: UnlocatedProblem['key'], error: unknown): UnlocatedProblem => {
  if (!(error instanceof CloisterError)) throw error;
  const remedy = error.code === 'server_missing' ? ` ${error.suggestion}` : '';
  return { key, message: `${error.message}${remedy}`, nearest: null };
};

/** A source that cannot be used, for this reason. */
export const failingSource = (name: string, error: CloisterError): SourceUse['source'] => ({
  name,
  list: async () => {
    throw error;
  },
});

/** Any value will do, because nothing is sent. */
export const withFakeValues = (overlay: Overlay, missing: readonly string[]): Overlay =>
  Object.freeze({ ...overlay, ...Object.fromEntries(missing.map((name) => [name, 'offline'])) });

/** The named models whose providers lack variables. */
export const modelsLacking = (
  models: AgentNeeds['models'],
  { providers }: RequiredConfig,
  missing: readonly string[],
): readonly PassedOverModel[] =>
  models.flatMap((model) => {
    const provider = typeof model === 'string' ? providers.get(providerName(model)) : undefined;
    const names =
      provider === undefined ? [] : requiredVariables(provider.value).filter((one) => missing.includes(one));
    return names.length === 0 ? [] : [{ model: model as string, missing: [...new Set(names)] }];
  });

/** The variables without which the agent cannot run: those of these models and those of its servers. */
export const missingProblems = (
  lacking: readonly PassedOverModel[],
  { servers }: RequiredConfig,
  missing: readonly string[],
): readonly UnlocatedProblem[] => {
  const ofServers = new Set([...servers.values()].flatMap(({ sourced }) => requiredVariables(sourced.value)));
  const lost = {
    models: [...new Set(lacking.flatMap((one) => one.missing))],
    tools: missing.filter((name) => ofServers.has(name)),
  };
  return (['models', 'tools'] as const).flatMap((key) =>
    lost[key].length === 0
      ? []
      : [{ key, message: `${missingVariablesMessage(lost[key])}.`, nearest: null, code: 'env_missing' as const }],
  );
};

const configEntries = ({ providers, servers }: RequiredConfig) => [
  ...[...providers].map(([name, { value }]) => ({ label: `providers.${name}`, value, server: null })),
  ...[...servers].map(([name, { sourced }]) => ({ label: `mcpServers.${name}`, value: sourced.value, server: name })),
];
