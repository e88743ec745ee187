// The config of another runtime (`.mcp.json`, or an `.ai-agent.json` with other keys) as a config of this one.
import { isAbsolute, relative, resolve } from 'node:path';
import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import { formatPath } from '#base/shapes';
import type { ImportNote } from '#contracts';
import { checkConfig } from './check-config.ts';
import { convertServers, mcpEntries, mcpFileFolder } from './mcp-file.ts';
import { readJsonFile } from './read-json-file.ts';

/** `to`: the folder it is for. `config` is null if nothing can be used. It has no problems. */
export const importConfig = (
  name: string,
  text: string,
  to: string,
): { readonly config: JsonObject | null; readonly notes: readonly ImportNote[] } => {
  const { value, problems } = readJsonFile(name, text);
  if (!isObject(value))
    return { config: null, notes: problems.map(({ line, message }) => ({ kind: 'decide', line, key: null, message })) };
  const isMcpFile = !name.endsWith('.ai-agent.json');
  const { servers, notes, rewritten } = convertServers(mcpEntries(value) ?? {});
  const { mcpServers: _servers, servers: _vscode, inputs: _inputs, ...rest } = value;
  const config: Record<string, Json> = {
    ...(isMcpFile ? {} : rest),
    ...(Object.keys(servers).length === 0 ? {} : { mcpServers: servers }),
  };
  const moved = moveConfig(config, { from: mcpFileFolder(name), to });
  const pruned = prune(name, JSON.parse(JSON.stringify(moved.config)) as Record<string, Json>);
  return {
    config: isEmpty(pruned.config) ? null : pruned.config,
    notes: [...notes, ...rewritten, ...moved.notes, ...pruned.notes],
  };
};

/** Paths in a config are relative to its folder. Folders of agents stay as they are: those agents are imported too. */
const moveConfig = (
  config: Readonly<Record<string, Json>>,
  { from, to }: { readonly from: string; readonly to: string },
): { readonly config: JsonObject; readonly notes: readonly ImportNote[] } => {
  const notes: ImportNote[] = [];
  const move = (path: Json | undefined, key: string): Json | undefined => {
    if (typeof path !== 'string' || path.includes('${') || isAbsolute(path)) return path;
    const moved = relative(to, resolve(from, path)) || '.';
    if (resolve(to, path) === resolve(to, moved)) return path;
    notes.push({
      kind: 'changed',
      line: null,
      key,
      message: `Written as ${JSON.stringify(moved)}: paths are relative to the folder of the config.`,
    });
    return moved;
  };
  const moveKey = (entry: Json, place: string, key: string): Json => {
    if (!isObject(entry)) return entry;
    const moved = move(entry[key], `${place}.${key}`);
    return moved === undefined ? entry : { ...entry, [key]: moved };
  };
  const moveServer = (entry: Json, place: string): Json => {
    if (!isObject(entry)) return entry;
    if (typeof entry['command'] !== 'string') return moveKey(entry, place, 'module');
    // Without `cwd`, a server starts in the folder of its config.
    const { cwd } = moveKey({ ...entry, cwd: entry['cwd'] ?? '.' }, place, 'cwd') as JsonObject;
    return entry['cwd'] === undefined && cwd === '.' ? entry : { ...entry, cwd: cwd! };
  };
  const moveEntries = (key: string, moveEntry: (entry: Json, place: string) => Json): JsonObject => {
    const entries = config[key];
    if (!isObject(entries)) return {};
    const moved = Object.entries(entries).map(([name, entry]) => [name, moveEntry(entry!, `${key}.${name}`)] as const);
    return { [key]: Object.fromEntries(moved) };
  };
  const { skills, mcp } = config;
  return {
    config: {
      ...config,
      ...moveEntries('mcpServers', moveServer),
      ...moveEntries('providers', (entry, place) => moveKey(entry, place, 'script')),
      ...(Array.isArray(skills) ? { skills: skills.map((one, index) => move(one as Json, `skills.${index}`)!) } : {}),
      ...(mcp === undefined ? {} : { mcp: move(mcp, 'mcp')! }),
    },
    notes,
  };
};

const isEmpty = (config: JsonObject): boolean => Object.keys(config).length === 0;

const roundsMax = 200;

/** Removes what this runtime does not know, and entries that it cannot use. */
const prune = (name: string, config: Record<string, Json>) => {
  const notes: ImportNote[] = [];
  for (let round = 0; round < roundsMax; round++) {
    const [problem] = checkConfig(name, JSON.stringify(config)).problems;
    if (problem === undefined) return { config, notes };
    const { key, message } = problem;
    const path = pathsIn(config).find((one) => formatPath(one) === key);
    if (path === undefined) break;
    const isUnknown = message.startsWith('Unknown key');
    // An unknown key is removed alone; of a wrong value, the whole entry.
    const removed = isUnknown || path.length < 3 ? path : path.slice(0, 2);
    removeAt(config, removed);
    notes.push({
      kind: isUnknown ? 'dropped' : 'decide',
      line: null,
      key,
      message: isUnknown ? 'It is not known here.' : `Left out. ${message}`,
    });
  }
  return {
    config: {},
    notes: [...notes, { kind: 'decide' as const, line: null, key: null, message: 'Nothing of it could be used.' }],
  };
};

const pathsIn = (value: Json, path: readonly (string | number)[] = []): readonly (readonly (string | number)[])[] => {
  if (typeof value !== 'object' || value === null) return [path];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value as JsonObject);
  return [path, ...entries.flatMap(([key, one]) => pathsIn(one as Json, [...path, key]))];
};

const removeAt = (value: Record<string, Json>, path: readonly (string | number)[]): void => {
  const [key, ...rest] = path;
  if (rest.length === 0) delete value[String(key)];
  else removeAt(value[String(key)] as Record<string, Json>, rest);
};
