// Prepares a model that a file names, so that each session can get a new instance.
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CloisterError } from '#base';
import type { Agent, Model, ModelFacts, Overlay, ProviderConfig } from '#contracts';
import { connectModel, modelFacts } from '#adapters/models';
import { fillProvider, missingVariablesMessage } from '#core/registry';
import type { SourcedConfig } from '#core/registry';
import { readScript, rehearse } from '#testkit';
import type { Script } from '#testkit';
import { importModule } from './load-module.ts';

type ModelContext = {
  readonly sourced: SourcedConfig<ProviderConfig>;
  readonly overlay: Overlay;
  readonly caching: Agent['caching'];
  readonly inspectOnly: boolean;
  /** Variables of its provider that have no value. Then the model exists, but every request fails. */
  readonly missing: readonly string[];
};

export const prepareModel = async (
  name: string,
  { sourced, overlay, caching, inspectOnly, missing }: ModelContext,
): Promise<() => Model> => {
  const config = sourced.value;
  const at = name.indexOf('/');
  const [provider, id] = [name.slice(0, at), name.slice(at + 1)];
  const configured = config.models?.[id];
  if (config.type === 'rehearsal')
    return prepareRehearsal(id, config.script, { provider, folder: sourced.folder, configured, inspectOnly });
  const facts = { ...(await modelFacts(config.type, id, new Date())), ...configured };
  if (missing.length > 0) return () => ({ ...facts, language: keylessModel(provider, id, missing) });
  const filled = fillProvider(provider, config, overlay);
  return () => ({ ...facts, language: connectModel(filled, id, { caching }) });
};

/** A run that was started with this model can be resumed without its key: the next model is tried. */
const keylessModel = (provider: string, modelId: string, missing: readonly string[]): Model['language'] => {
  const refuse = (): Promise<never> =>
    Promise.reject(new CloisterError('env_missing', missingVariablesMessage(missing)));
  return {
    specificationVersion: 'v4',
    provider,
    modelId,
    supportedUrls: {},
    doGenerate: refuse,
    doStream: refuse,
  };
};

type RehearsalContext = {
  readonly provider: string;
  readonly folder: string;
  readonly configured: ModelFacts | undefined;
  readonly inspectOnly: boolean;
};

const prepareRehearsal = async (
  modelId: string,
  script: string | undefined,
  { provider, folder, configured, inspectOnly }: RehearsalContext,
): Promise<() => Model> => {
  if (script === undefined) throw new CloisterError('config_invalid', 'A rehearsal provider needs a `script`.');
  const path = resolve(folder, script);
  if (inspectOnly && isModule(path)) return placeholderModel(path, configured);
  const read = await readScriptFile(path);
  return () => withProviderName(provider, { ...rehearse(read, { modelId, keepRequests: false }).model, ...configured });
};

/** A placeholder for a script that is code: code is not run when agents are only inspected. */
const placeholderModel = (path: string, facts: ModelFacts | undefined): (() => Model) => {
  if (!existsSync(path)) throw new CloisterError('module_invalid', `No such file: ${path}.`);
  return () => ({ ...rehearse([]).model, ...facts });
};

const isModule = (path: string): boolean => /\.[cm]?[jt]s$/u.test(path);

/** Sets the provider name that the config uses. */
const withProviderName = (provider: string, model: Model): Model => ({
  ...model,
  language: { ...model.language, provider },
});

const scripts = new Map<string, { readonly text: string; readonly script: Script }>();

/** Reads a YAML file, or a module whose default export is a script. Many agents share a script, so equal text is parsed once. */
const readScriptFile = async (path: string): Promise<Script> => {
  if (isModule(path)) return (await importModule(path)).default as Script;
  const text = readText(path);
  const known = scripts.get(path);
  if (known?.text === text) return known.script;
  const script = readScript(text);
  scripts.set(path, { text, script });
  return script;
};

const readText = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new CloisterError('config_invalid', `The rehearsal script ${path} cannot be read.`, { cause: error });
  }
};
