// Prepares a rehearsal model that a file names: a model that answers from a script, offline.
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CloisterError } from '#base';
import type { Model, ModelFacts } from '#contracts';
import { readScript, rehearse } from '#testkit';
import type { Script } from '#testkit';
import { importModule } from './load-module.ts';

type RehearsalContext = {
  readonly provider: string;
  readonly folder: string;
  readonly configured: ModelFacts | undefined;
  readonly inspectOnly: boolean;
};

export const prepareRehearsal = async (
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
