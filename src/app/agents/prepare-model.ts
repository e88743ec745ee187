// A model that a file names, ready to be made anew for each session.
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CloisterError } from '#base';
import type { Agent, Model, ModelFacts, Overlay, ProviderConfig } from '#contracts';
import { connectModel, modelFacts } from '#adapters/models';
import { fillProvider } from '#core/registry';
import type { ConfigSourced } from '#core/registry';
import { readScript, rehearse } from '#testkit';
import type { Script } from '#testkit';
import { importModule } from './load-module.ts';

type Named = {
  readonly placed: ConfigSourced<ProviderConfig>;
  readonly overlay: Overlay;
  readonly caching: Agent['caching'];
  readonly looking: boolean;
};

export const prepareModel = async (
  name: string,
  { placed, overlay, caching, looking }: Named,
): Promise<() => Model> => {
  const config = placed.value;
  const at = name.indexOf('/');
  const [provider, id] = [name.slice(0, at), name.slice(at + 1)];
  const configured = config.models?.[id];
  if (config.type === 'rehearsal')
    return prepareRehearsal(id, config.script, { provider, folder: placed.folder, configured, looking });
  const filled = fillProvider(provider, config, overlay);
  const facts = { ...(await modelFacts(config.type, id, new Date())), ...configured };
  return () => ({ ...facts, language: connectModel(filled, id, { caching }) });
};

type Rehearsed = {
  readonly provider: string;
  readonly folder: string;
  readonly configured: ModelFacts | undefined;
  readonly looking: boolean;
};

const prepareRehearsal = async (
  modelId: string,
  script: string | undefined,
  { provider, folder, configured, looking }: Rehearsed,
): Promise<() => Model> => {
  if (script === undefined) throw new CloisterError('config_invalid', 'A rehearsal provider needs a `script`.');
  const path = resolve(folder, script);
  if (looking && isModule(path)) return lookedAt(path, configured);
  const read = await scriptAt(path);
  return () => named(provider, { ...rehearse(read, { modelId, keepRequests: false }).model, ...configured });
};

/** A stand-in for a script that is code: it is not run to be looked at. */
const lookedAt = (path: string, facts: ModelFacts | undefined): (() => Model) => {
  if (!existsSync(path)) throw new CloisterError('module_invalid', `There is no file ${path}.`);
  return () => ({ ...rehearse([]).model, ...facts });
};

const isModule = (path: string): boolean => /\.[cm]?[jt]s$/u.test(path);

/** Under the name that the config has for it. */
const named = (provider: string, model: Model): Model => ({ ...model, language: { ...model.language, provider } });

const scripts = new Map<string, { readonly text: string; readonly script: Script }>();

/** A YAML file, or a module whose default export is a script. Many agents share one: the same text is read once. */
const scriptAt = async (path: string): Promise<Script> => {
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
