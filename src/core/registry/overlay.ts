// The environment variables that one session sees: only those its providers and servers name. Nothing else reads the environment.
import type {
  ConfigLayer,
  Overlay,
  ProviderConfig,
  ResolvedProvider,
  ResolvedServer,
  ServerConfig,
  SlackConfig,
} from '#contracts';
import { requiredVariables, listVariables, fillText, placeholderValue, slackSecretNames } from './config-fields.ts';
import type { ConfigEntry } from './config-fields.ts';
import { CloisterError, isObject } from '#base';

type BuiltOverlay = { readonly overlay: Overlay; readonly missing: readonly string[] };

/**
 * Looks for each variable in what the run was given, then in the `env` blocks in order, then in the sidecars in order; the last
 * sidecar is the process environment.
 */
export const buildOverlay = (
  names: readonly string[],
  layers: readonly ConfigLayer[],
  given: Overlay = {},
): BuiltOverlay => {
  const sources = [given, ...layers.map(({ env }) => env), ...layers.map(({ sidecar }) => sidecar)];
  const overlay = Object.create(null) as Record<string, string>;
  const missing = new Set<string>();
  for (const name of names) {
    const source = sources.find((values) => isSet(values, name));
    if (source === undefined) missing.add(name);
    else overlay[name] = source[name]!;
  }
  return { overlay: Object.freeze(overlay), missing: [...missing] };
};

/**
 * The overlay of a session with these providers and servers. A variable with a default in every place is never missing. `given`:
 * the values of its run, which come first.
 */
export const overlayFor = (
  entries: readonly ConfigEntry[],
  layers: readonly ConfigLayer[],
  given?: Overlay,
): BuiltOverlay => {
  const { overlay, missing } = buildOverlay(entries.flatMap(listVariables), layers, given);
  const required = new Set(entries.flatMap(requiredVariables));
  return { overlay, missing: missing.filter((name) => required.has(name)) };
};

export const missingVariablesMessage = (names: readonly string[]): string =>
  `Missing: ${names.join(', ')}; define in shell or .ai-agent.env`;

/**
 * A copy of the values that code gives to one run, which nobody can change any more. Throws `options_invalid`, without any value:
 * they are secrets.
 */
export const readRunEnv = (given: unknown): Overlay => {
  if (!isObject(given)) throw invalidEnv('env: expected an object of names and values.');
  const env = Object.create(null) as Record<string, string>;
  for (const [name, value] of Object.entries(given)) {
    const shown = `env.${name.slice(0, 80)}`;
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/u.test(name))
      throw invalidEnv(
        `${shown}: a variable name has letters, digits and underscores, and does not start with a digit.`,
      );
    if (typeof value !== 'string') throw invalidEnv(`${shown}: expected a string, not ${typeName(value)}.`);
    // An empty value would fall back to the config, and the operator's key would pay for the caller's run.
    if (value === '') throw invalidEnv(`${shown}: the value is empty. Leave it out to use the value from the config.`);
    if (value.includes('\0')) throw invalidEnv(`${shown}: the value contains a NUL character.`);
    env[name] = value;
  }
  return Object.freeze(env);
};

const invalidEnv = (text: string): CloisterError => new CloisterError('options_invalid', text);

const typeName = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value);

/** Empty counts as not set: shells and containers pass undefined variables on as empty ones. */
const isSet = (values: Readonly<Record<string, string>>, name: string): boolean =>
  Object.hasOwn(values, name) && values[name] !== '';

// A provider or server as one session uses it, with all variables filled in and all fields set.

export const fillProvider = (name: string, config: ProviderConfig, overlay: Overlay): ResolvedProvider => {
  if (config.type === 'rehearsal')
    throw new CloisterError('config_invalid', `providers.${name}: a rehearsal provider has no connection.`);
  if (config.baseUrl === undefined)
    throw new CloisterError('config_invalid', `providers.${name}.baseUrl: an ${config.type} provider needs one.`);
  checkMissing(config, overlay);
  return Object.freeze({
    name,
    type: config.type,
    apiKey: fillText(config.apiKey ?? '', overlay),
    baseUrl: fillText(config.baseUrl, overlay),
    headers: fillMap(config.headers, overlay),
    api: config.api ?? 'responses',
  });
};

/** The folder of the server's config layer, and the PATH that its command is looked up in. */
type ServerLocation = { readonly folder: string; readonly path: string };

export const fillServer = (
  name: string,
  config: ServerConfig,
  overlay: Overlay,
  location: ServerLocation,
): ResolvedServer => {
  if (config.type === 'module')
    throw new CloisterError('config_invalid', `mcpServers.${name}: a module server has no connection.`);
  checkMissing(config, overlay);
  if (config.type !== 'stdio')
    return Object.freeze({
      ...config,
      name,
      url: fillText(config.url, overlay),
      headers: fillMap(config.headers, overlay),
    });
  return Object.freeze({
    ...config,
    name,
    args: Object.freeze((config.args ?? []).map((text) => fillText(text, overlay))),
    env: fillMap(config.env, overlay, { PATH: location.path }),
    cwd: resolvePath(location.folder, config.cwd),
  });
};

/** Throws `env_missing`. */
export const fillSlack = (config: SlackConfig, overlay: Overlay): SlackConfig => {
  checkMissing(config, overlay);
  const filled = slackSecretNames.flatMap((name) => {
    const { [name]: text } = config;
    return text === undefined ? [] : [[name, fillText(text, overlay)] as const];
  });
  return Object.freeze({ ...config, ...Object.fromEntries(filled) });
};

const checkMissing = (config: ConfigEntry, overlay: Overlay): void => {
  const missing = requiredVariables(config).filter((name) => placeholderValue(overlay, name) === undefined);
  if (missing.length > 0) throw new CloisterError('env_missing', missingVariablesMessage(missing));
};

const fillMap = (
  values: Readonly<Record<string, string>> | undefined,
  overlay: Overlay,
  initial: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> => {
  const filled = Object.assign(Object.create(null) as Record<string, string>, initial);
  for (const [name, text] of Object.entries(values ?? {})) filled[name] = fillText(text, overlay);
  return Object.freeze(filled);
};

const resolvePath = (folder: string, path: string | undefined): string => {
  if (path === undefined) return folder;
  return /^(?:[/\\]|[A-Za-z]:)/u.test(path) ? path : `${folder}/${path}`;
};
