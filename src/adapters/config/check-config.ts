// Checks one `.ai-agent.json`: valid parts become a layer, invalid ones become problems with their lines.
import { isName, isObject, nearestName } from '#base';
import type { Json, JsonObject } from '#base';
import {
  joinWithOr,
  readWhole,
  boolean,
  jsonObject,
  listOf,
  mapOf,
  object,
  oneOf,
  pattern,
  string,
  whole,
} from '#base/shapes';
import type { Of, Shape, ShapePath, ShapeFields } from '#base/shapes';
import {
  agentNameShape,
  approvalRulesShape,
  expandableText,
  keepRulesShape,
  modelAliasShape,
  modelNameShape,
  priceShape,
  slackConfigShape,
  spawnCapsShape,
  textRule,
  vendorList,
} from '#contracts';
import type { ConfigLayer, ImportNote, Problem, ProviderConfig, ServerConfig, ModelFacts } from '#contracts';
import { convertServers, mcpEntries } from './mcp-file.ts';
import { readJsonFile } from './read-json-file.ts';
import type { JsonFile } from './read-json-file.ts';

// The shapes of the entries in an `.ai-agent.json`.
const notEmpty = pattern('[^]', 'a string that is not empty');
const notExpanded = 'Variables are not expanded here; write the value itself.';
const literalText = textRule(notEmpty, notExpanded, (written) => !written.includes('${'));

const urlWith = (...schemes: readonly string[]): Shape<string> =>
  textRule(
    expandableText,
    `Expected a URL that starts with ${schemes.map((scheme) => `${scheme}//`).join(' or ')}.`,
    (written) => written.includes('${') || (URL.canParse(written) && schemes.includes(new URL(written).protocol)),
  );

const httpUrl = urlWith('http:', 'https:');

const headers = mapOf(
  textRule(expandableText, 'A header value must be a single line.', (written) => !/[\r\n\0]/u.test(written)),
  pattern("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", 'a valid header name'),
);

const variableName = pattern('^[A-Za-z_][A-Za-z0-9_]*$', 'a variable name: letters, digits and _');

const count = whole(1);

const mediaType = pattern('^(?:\\*|[a-z]+)/(?:\\*|[a-z0-9.+-]+)$', 'a media type such as image/png or image/*');

const modelFacts: Shape<ModelFacts> = object(
  {},
  {
    price: priceShape,
    contextTokens: count,
    maxOutputTokens: count,
    structuredOutput: boolean(),
    attachments: listOf(mediaType),
  },
);

const models = { models: mapOf(modelFacts) };
const vendorKeys = { ...models, apiKey: expandableText, headers };

const vendorShape = ({ type, baseUrl, apis }: (typeof vendorList)[number]): Shape<ProviderConfig> => {
  const optional = { ...vendorKeys, ...(apis === undefined ? {} : { api: oneOf(...apis) }) };
  return baseUrl === undefined
    ? object({ type: oneOf(type), baseUrl: httpUrl }, optional)
    : object({ type: oneOf(type) }, { baseUrl: httpUrl, ...optional });
};

/** By type, so that a key of another type is refused. */
const providerShapes: Readonly<Record<string, Shape<ProviderConfig>>> = {
  ...Object.fromEntries(vendorList.map((vendor) => [vendor.type, vendorShape(vendor)])),
  rehearsal: object({ type: oneOf('rehearsal') }, { ...models, script: literalText }),
};

const commonKeys = {
  enabled: boolean(),
  trusted: boolean(),
  untrustedText: boolean(),
  tools: listOf(notEmpty),
  connectTimeoutMs: count,
};

const mcpKeys = { ...commonKeys, approve: oneOf('destructive') };

const environment = mapOf(
  textRule(expandableText, 'A variable cannot contain a NUL character.', (written) => !written.includes('\0')),
  pattern('^[^=\\0]+$', 'a valid variable name'),
);

const serverShapes: Readonly<Record<ServerConfig['type'], Shape<ServerConfig>>> = {
  stdio: object(
    { type: oneOf('stdio'), command: literalText },
    { args: listOf(expandableText), env: environment, cwd: literalText, ...mcpKeys },
  ),
  http: object({ type: oneOf('http'), url: httpUrl }, { headers, ...mcpKeys }),
  sse: object({ type: oneOf('sse'), url: httpUrl }, { headers, ...mcpKeys }),
  websocket: object({ type: oneOf('websocket'), url: urlWith('ws:', 'wss:') }, { headers, ...mcpKeys }),
  module: object({ type: oneOf('module'), module: literalText }, commonKeys),
};

/** The parts of a file besides providers and servers. */
const partShapes = {
  defaults: jsonObject('an object'),
  agents: listOf(notEmpty),
  mcp: literalText,
  skills: listOf(notEmpty),
  modelAliases: mapOf(modelNameShape, modelAliasShape),
  defaultAgent: { ...agentNameShape, expected: 'an agent name, which is its file name without `.ai`' },
  env: mapOf(
    textRule(string(), notExpanded, (written) => !/\$\{|\0/u.test(written)),
    variableName,
  ),
  plain: listOf(variableName),
  spawns: spawnCapsShape,
  approve: approvalRulesShape,
  indeterminate: oneOf('continue', 'ask', 'fail'),
  keep: keepRulesShape,
  slack: slackConfigShape,
} as const satisfies ShapeFields;

export type CheckedConfig = Pick<
  ConfigLayer,
  | 'providers'
  | 'servers'
  | 'defaults'
  | 'agents'
  | 'skills'
  | 'modelAliases'
  | 'defaultAgent'
  | 'env'
  | 'plain'
  | 'spawns'
  | 'approve'
  | 'indeterminate'
  | 'keep'
  | 'slack'
> & {
  /** The path of a file with tool servers, in the format of other programs. */
  readonly mcp?: string;
};

const keys = ['providers', 'mcpServers', ...Object.keys(partShapes)];

export const checkConfig = (
  name: string,
  text: string,
): { readonly config: CheckedConfig; readonly problems: readonly Problem[] } => {
  const file = readJsonFile(name, text);
  const { value = {} } = file;
  if (!isObject(value)) file.add([], 'Expected an object: { "providers": … }.');
  const parts = isObject(value) ? value : {};
  for (const key of Object.keys(parts))
    if (key !== '$schema' && !keys.includes(key))
      file.add([key], `Unknown key; expected ${joinWithOr(keys)}.`, nearestName(key, keys));
  return { config: readParts(parts, file), problems: file.problems };
};

/** Something in a `.mcp.json` that has no effect here, or another one than there. */
export type ConfigNote = Problem & Pick<ImportNote, 'kind'>;

/** The servers of a `.mcp.json`. */
export const checkMcpFile = (
  name: string,
  text: string,
): {
  readonly servers: CheckedConfig['servers'];
  readonly problems: readonly Problem[];
  readonly notes: readonly ConfigNote[];
} => {
  const file = readJsonFile(name, text);
  const entries = mcpEntries(file.value);
  if (entries === null && file.problems.length === 0) file.add([], 'Expected an object with `mcpServers`.');
  const { servers, notes } = convertServers(entries ?? {});
  return {
    servers: readEntries({ mcpServers: servers }, 'mcpServers', file, readServer),
    problems: file.problems,
    notes: notes.map((note) => ({ ...note, file: name, nearest: null })),
  };
};

const readParts = (parts: JsonObject, file: JsonFile): CheckedConfig => {
  const read = <K extends keyof typeof partShapes>(key: K): Of<(typeof partShapes)[K]> | undefined =>
    parts[key] === undefined
      ? undefined
      : readWhole(partShapes[key] as Shape<Of<(typeof partShapes)[K]>>, parts[key], file, [key]);
  const [defaultAgent, skills, mcp] = [read('defaultAgent'), read('skills'), read('mcp')];
  const [modelAliases, approve, slack] = [read('modelAliases'), read('approve'), read('slack')];
  const [indeterminate, keep] = [read('indeterminate'), read('keep')];
  return {
    providers: readEntries(parts, 'providers', file, readProvider),
    servers: readEntries(parts, 'mcpServers', file, readServer),
    defaults: withoutPrototype(read('defaults') ?? {}),
    agents: read('agents') ?? [],
    ...(skills === undefined ? {} : { skills }),
    ...(mcp === undefined ? {} : { mcp }),
    ...(modelAliases === undefined ? {} : { modelAliases }),
    ...(defaultAgent === undefined ? {} : { defaultAgent }),
    env: withoutPrototype(read('env') ?? {}),
    plain: read('plain') ?? [],
    spawns: read('spawns') ?? {},
    ...(approve === undefined ? {} : { approve }),
    ...(indeterminate === undefined ? {} : { indeterminate }),
    ...(keep === undefined ? {} : { keep }),
    ...(slack === undefined ? {} : { slack }),
  };
};

type ReadEntry<T> = (name: string, entry: JsonObject, path: ShapePath, file: JsonFile) => T | undefined;

const readEntries = <T>(
  parts: JsonObject,
  key: 'providers' | 'mcpServers',
  file: JsonFile,
  read: ReadEntry<T>,
): Readonly<Record<string, T>> => {
  const found: Record<string, T> = {};
  const { [key]: entries = {} } = parts;
  if (!isObject(entries)) file.add([key], 'Expected an object with one entry per name.');
  else
    for (const [name, entry] of Object.entries(entries)) {
      const path = [key, name];
      const value = isObject(entry) ? read(name, entry, path, file) : file.add(path, 'Expected an object.');
      if (value !== undefined) found[name] = value;
    }
  return withoutPrototype(found);
};

const readProvider: ReadEntry<ProviderConfig> = (name, entry, path, file) => {
  if (!isName(name))
    return file.add(path, 'A provider name may contain only letters, digits, dots, dashes and underscores.');
  // Configuration files of other tools name a provider after its type.
  const type = entry['type'] ?? name;
  if (isKey(providerShapes, type)) return readWhole(providerShapes[type]!, { ...entry, type }, file, path);
  return reportWrongType(type, Object.keys(providerShapes), entry, path, file);
};

const serverAliases: Readonly<Record<string, string>> = {
  'streamable-http': 'http',
  streamableHttp: 'http',
  ws: 'websocket',
};

const readServer: ReadEntry<ServerConfig> = (name, entry, path, file) => {
  if (entry['enabled'] === false) return undefined;
  if (!/^[A-Za-z0-9][\w-]{0,63}$/u.test(name))
    return file.add(path, 'A server name may contain only letters, digits, dashes and underscores.');
  const given = entry['type'] ?? impliedType(entry);
  const type = typeof given === 'string' && Object.hasOwn(serverAliases, given) ? serverAliases[given] : given;
  if (isKey(serverShapes, type)) return withoutEnabled(readWhole(serverShapes[type], { ...entry, type }, file, path));
  if (given === undefined) return file.add(path, 'Expected one of `command`, `url` and `module`, or a `type`.');
  return reportWrongType(given, Object.keys(serverShapes), entry, path, file);
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
  path: ShapePath,
  file: JsonFile,
): undefined => {
  if (entry['type'] === undefined) return file.add(path, `Expected a \`type\`: ${joinWithOr(known)}.`);
  return file.add(
    [...path, 'type'],
    `Expected ${joinWithOr(known)}.`,
    typeof type === 'string' ? nearestName(type, known) : null,
  );
};

const isKey = <T extends object>(table: T, key: unknown): key is keyof T =>
  typeof key === 'string' && Object.hasOwn(table, key);

const withoutPrototype = <T>(values: Readonly<Record<string, T>>): Readonly<Record<string, T>> =>
  Object.freeze(Object.assign(Object.create(null) as Record<string, T>, values));
