// The config of another runtime (`.mcp.json`, or an `.ai-agent.json` with other keys) as a config of this one.
import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import { formatPath } from '#base/shapes';
import type { ImportNote } from '#contracts';
import { checkConfig } from './check-config.ts';
import { convertServers, mcpEntries } from './mcp-file.ts';
import { readJsonFile } from './read-json-file.ts';

/** `config` is null if nothing can be used. It has no problems. */
export const importConfig = (
  name: string,
  text: string,
): { readonly config: JsonObject | null; readonly notes: readonly ImportNote[] } => {
  const { value, problems } = readJsonFile(name, text);
  if (!isObject(value))
    return { config: null, notes: problems.map(({ line, message }) => ({ kind: 'decide', line, key: null, message })) };
  const isMcpFile = !name.endsWith('.ai-agent.json');
  const { servers, notes } = convertServers(mcpEntries(value) ?? {});
  const { mcpServers: _servers, servers: _vscode, inputs: _inputs, ...rest } = value;
  const config: Record<string, Json> = {
    ...(isMcpFile ? {} : rest),
    ...(Object.keys(servers).length === 0 ? {} : { mcpServers: servers }),
  };
  const pruned = prune(name, JSON.parse(JSON.stringify(config)) as Record<string, Json>);
  return { config: isEmpty(pruned.config) ? null : pruned.config, notes: [...notes, ...pruned.notes] };
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
