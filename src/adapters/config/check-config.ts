// Checks one `.ai-agent.json`: valid parts become a layer, invalid ones become problems with their lines.
//
//   C1. A problem never shows a value, because it may be a secret.
import { isName, isObject, nearestName } from '#base';
import type { Json, JsonObject } from '#base';
import type { ConfigLayer, Problem, ProviderConfig, ServerConfig } from '#contracts';
import { matchSchema } from './match-schema.ts';
import type { ReportMismatch } from './match-schema.ts';
import { parseJson } from './parse-json.ts';
import { partSchemas, providerSchemas, serverSchemas } from './schemas.ts';

export type CheckedConfig = Pick<
  ConfigLayer,
  'providers' | 'servers' | 'defaults' | 'agents' | 'defaultAgent' | 'env' | 'plain' | 'spawns'
>;

const keys = ['providers', 'mcpServers', 'defaults', 'agents', 'defaultAgent', 'env', 'plain', 'spawns'] as const;

export const checkConfig = (
  file: string,
  text: string,
): { readonly config: CheckedConfig; readonly problems: readonly Problem[] } => {
  const problems: Problem[] = [];
  const document = parseJson(text);
  const nearest: ReportMismatch = (path, message, meant = null) => {
    const line = 'problem' in document ? null : document.line(path);
    problems.push({ file, line, key: path.length === 0 ? null : path.map(String).join('.'), message, nearest: meant });
  };
  if ('problem' in document) {
    problems.push({ file, line: document.problem.line, key: null, message: document.problem.message, nearest: null });
    return { config: readParts({}, nearest), problems };
  }
  const { value } = document;
  if (!isObject(value)) nearest([], 'Expected an object: { "providers": … }.');
  const parts = isObject(value) ? value : {};
  for (const key of Object.keys(parts))
    if (key !== '$schema' && !(keys as readonly string[]).includes(key))
      nearest([key], `Unknown key; expected ${joinNames(keys)}.`, nearestName(key, keys));
  return { config: readParts(parts, nearest), problems };
};

const readParts = (parts: JsonObject, report: ReportMismatch): CheckedConfig => {
  const { defaults = {}, agents = [], defaultAgent: named, env = {}, plain = [], spawns = {} } = parts;
  const defaultAgent =
    named === undefined ? undefined : matchSchema(partSchemas.defaultAgent, named, ['defaultAgent'], report);
  return {
    providers: readEntries(parts, 'providers', report, readProvider),
    servers: readEntries(parts, 'mcpServers', report, readServer),
    defaults: withoutPrototype((matchSchema(partSchemas.defaults, defaults, ['defaults'], report) ?? {}) as JsonObject),
    agents: matchSchema(partSchemas.agents, agents, ['agents'], report) ?? [],
    ...(defaultAgent === undefined ? {} : { defaultAgent }),
    env: withoutPrototype(matchSchema(partSchemas.env, env, ['env'], report) ?? {}),
    plain: matchSchema(partSchemas.plain, plain, ['plain'], report) ?? [],
    spawns: matchSchema(partSchemas.spawns, spawns, ['spawns'], report) ?? {},
  };
};

type ReadEntry<T> = (name: string, entry: JsonObject, path: readonly string[], report: ReportMismatch) => T | undefined;

const readEntries = <T>(
  parts: JsonObject,
  key: 'providers' | 'mcpServers',
  report: ReportMismatch,
  read: ReadEntry<T>,
): Readonly<Record<string, T>> => {
  const found: Record<string, T> = {};
  const { [key]: entries = {} } = parts;
  if (!isObject(entries)) report([key], 'Expected an object with one entry per name.');
  else
    for (const [name, entry] of Object.entries(entries)) {
      const path = [key, name];
      const value = isObject(entry) ? read(name, entry, path, report) : report(path, 'Expected an object.');
      if (value !== undefined) found[name] = value;
    }
  return withoutPrototype(found);
};

const readProvider: ReadEntry<ProviderConfig> = (name, entry, path, report) => {
  if (!isName(name))
    return report(path, 'A provider name may contain only letters, digits, dots, dashes and underscores.');
  // Configuration files of other tools name a provider after its type.
  const type = entry['type'] ?? name;
  if (isKey(providerSchemas, type)) return matchSchema(providerSchemas[type], { ...entry, type }, path, report);
  return reportWrongType(type, Object.keys(providerSchemas), entry, path, report);
};

const serverAliases: Readonly<Record<string, string>> = {
  'streamable-http': 'http',
  streamableHttp: 'http',
  ws: 'websocket',
};

const readServer: ReadEntry<ServerConfig> = (name, entry, path, report) => {
  if (entry['enabled'] === false) return undefined;
  if (!/^[A-Za-z0-9][\w-]{0,63}$/u.test(name))
    return report(path, 'A server name may contain only letters, digits, dashes and underscores.');
  const given = entry['type'] ?? impliedType(entry);
  const type = typeof given === 'string' && Object.hasOwn(serverAliases, given) ? serverAliases[given] : given;
  if (isKey(serverSchemas, type))
    return withoutEnabled(matchSchema(serverSchemas[type], { ...entry, type }, path, report));
  if (given === undefined) return report(path, 'Expected one of `command`, `url` and `module`, or a `type`.');
  return reportWrongType(given, Object.keys(serverSchemas), entry, path, report);
};

const withoutEnabled = (server: (ServerConfig & { enabled?: boolean }) | undefined): ServerConfig | undefined => {
  if (server === undefined) return undefined;
  const { enabled: _, ...config } = server;
  return config;
};

const impliedType = (entry: JsonObject): string | undefined => {
  const implied = [
    ...(entry['command'] === undefined ? [] : ['stdio']),
    ...(entry['url'] === undefined ? [] : [isSocketUrl(entry['url']) ? 'websocket' : 'http']),
    ...(entry['module'] === undefined ? [] : ['module']),
  ];
  return implied.length === 1 ? implied[0] : undefined;
};

const isSocketUrl = (url: Json): boolean => typeof url === 'string' && /^wss?:/u.test(url);

const reportWrongType = (
  type: Json,
  known: readonly string[],
  entry: JsonObject,
  path: readonly string[],
  report: ReportMismatch,
): undefined => {
  if (entry['type'] === undefined) return report(path, `Expected a \`type\`: ${joinNames(known)}.`);
  return report(
    [...path, 'type'],
    `Expected ${joinNames(known)}.`,
    typeof type === 'string' ? nearestName(type, known) : null,
  );
};

const isKey = <T extends object>(object: T, key: unknown): key is keyof T =>
  typeof key === 'string' && Object.hasOwn(object, key);

const withoutPrototype = <T>(values: Readonly<Record<string, T>>): Readonly<Record<string, T>> =>
  Object.freeze(Object.assign(Object.create(null) as Record<string, T>, values));

const joinNames = (names: readonly string[]): string => `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
