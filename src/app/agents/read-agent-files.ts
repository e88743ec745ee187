// Reads agent files and the files that they name, and collects all problems.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { agentNameFromPath, isAgentPath, nearestName } from '#base';
import type { JsonObject } from '#base';
import type { AgentFile, AgentReference, InvalidAgentFile, ParseYaml, Problem } from '#contracts';
import { parseAgentFile } from '#core/registry';
import type { ParsedFile } from '#core/registry';
import type { Configs } from './configs.ts';
import { listAgentFiles, isAgentFile, pathKind } from './find-files.ts';
import { displayPath } from './launch-environment.ts';
import type { LaunchEnvironment } from './launch-environment.ts';

/** An agent file with the paths of the agents that it names. */
export type LinkedFile = {
  readonly path: string;
  readonly file: AgentFile;
  readonly agents: readonly { readonly path: string; readonly reference: AgentReference }[];
  /** Files of the agents that it may spawn; `self` is the agent itself. */
  readonly spawns: readonly string[];
};

export const selfReference = 'self';

export type AgentFiles = {
  readonly linked: ReadonlyMap<string, LinkedFile>;
  /** Invalid files by path, as far as they could be read. */
  readonly broken: ReadonlyMap<string, InvalidAgentFile>;
  readonly problems: readonly Problem[];
};

export type ReadPorts = {
  readonly launch: LaunchEnvironment;
  readonly parseYaml: ParseYaml;
  checkSchema(schema: JsonObject): string | null;
  /** Folders searched for agents by name, nearest first. */
  foldersFor(path: string): readonly string[];
  /** The operator's names for models of other runtimes, for an agent of one. Absent: no config is read. */
  modelAliasesFor?(path: string): Readonly<Record<string, string>>;
};

const bytesMax = 1_000_000;

/** With `follow` false, each file is read by itself and references are not followed. */
export const readAgentFiles = (paths: readonly string[], follow: boolean, ports: ReadPorts): AgentFiles => {
  const linked = new Map<string, LinkedFile>();
  const broken = new Map<string, InvalidAgentFile>();
  const problems: Problem[] = [];
  const names = new Map(paths.map((path) => [agentNameFromPath(path), path]));
  const folders = new Map<string, ReadonlyMap<string, string>>();
  const queue = [...paths];
  const seen = new Set(paths);
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    const read = readOne(path, ports);
    problems.push(...read.problems);
    const readable = read.file ?? read.broken;
    if (readable === undefined) continue;
    const known = { names, folders, problems, ports };
    const agents = follow ? linkAgents(path, readable, known) : [];
    const spawns = follow ? linkSpawns(path, readable, known) : [];
    if (read.file !== null) linked.set(path, { path, file: read.file, agents, spawns });
    else broken.set(path, readable);
    for (const next of [...agents.map((one) => one.path), ...spawns])
      if (next !== selfReference && !seen.has(next)) {
        seen.add(next);
        queue.push(next);
      }
  }
  return { linked, broken, problems };
};

const readOne = (path: string, ports: ReadPorts): ParsedFile => {
  const display = displayPath(path, ports.launch);
  const broken = (message: string) => ({
    file: null,
    problems: [{ file: display, line: null, key: null, message, nearest: null }],
  });
  try {
    const stat = statSync(path);
    if (!stat.isFile()) return broken('Not a regular file.');
    const { size } = stat;
    if (size > bytesMax)
      return broken(`The file has ${size} bytes; the limit for agent files is ${bytesMax}. Move data out of it.`);
    const text = readFileSync(path, 'utf8');
    const modelAliases = isAgentFile(path) ? undefined : ports.modelAliasesFor?.(path);
    return parseAgentFile(display, text, modelAliases === undefined ? ports : { ...ports, modelAliases });
  } catch (error) {
    return broken(
      `The file cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}. Check its permissions.`,
    );
  }
};

/** Where agents can be found. */
export type AgentIndex = {
  readonly names: Map<string, string>;
  /** Agents found in searched folders, by name. */
  readonly folders: Map<string, ReadonlyMap<string, string>>;
  readonly problems: Problem[];
  readonly ports: ReadPorts;
};

/** With more problems than this, suggestions are not computed. */
const nearestMax = 50;

const linkAgents = (path: string, file: InvalidAgentFile, known: AgentIndex): LinkedFile['agents'] =>
  (file.frontmatter.agents ?? []).flatMap((reference: AgentReference | undefined, index) => {
    // An entry of a list that could not be read is undefined.
    if (reference === undefined) return [];
    const found = locateAgent(reference.agent, path, known);
    if (found !== null) return [{ path: found, reference }];
    addUnknownAgentProblem(reference.agent, { path, file, key: 'agents', index }, known);
    return [];
  });

/** A reference to the agent's own file means `self`. */
const linkSpawns = (path: string, file: InvalidAgentFile, known: AgentIndex): LinkedFile['spawns'] =>
  (file.frontmatter.spawns?.agents ?? []).flatMap((reference: string | undefined, index) => {
    if (reference === undefined) return [];
    const found = reference === selfReference ? path : locateAgent(reference, path, known);
    if (found !== null) return [found === path ? selfReference : found];
    const key = file.lines['spawns.agents'] === undefined ? 'spawns' : 'spawns.agents';
    addUnknownAgentProblem(reference, { path, file, key, index }, known);
    return [];
  });

/** Where a file names an agent. */
type AgentMention = {
  readonly path: string;
  readonly file: Pick<InvalidAgentFile, 'path' | 'lines'>;
  readonly key: string;
  readonly index: number;
};

export const addUnknownAgentProblem = (
  name: string,
  { path, file, key, index }: AgentMention,
  known: AgentIndex,
): void => {
  const { names, folders, problems } = known;
  problems.push({
    file: file.path,
    line: file.lines[`${key}.${index}`] ?? file.lines[key] ?? null,
    key,
    message: `No agent ${JSON.stringify(name)} was found. Use a path relative to this file, or the name of an agent beside it, in \`agents\` of .ai-agent.json, or in the home folder.`,
    nearest:
      problems.length < nearestMax
        ? nearestName(name, [...names.keys(), ...indexFolder(dirname(path), folders).keys()])
        : null,
  });
};

/** Resolves a path relative to the naming file; or a name: beside that file, among the given files, or in a folder for agents. */
export const locateAgent = (name: string, from: string, { names, folders, ports }: AgentIndex): string | null => {
  const isFile = (path: string): boolean => pathKind(path) === 'file';
  if (isAgentPath(name) || name.includes('/')) {
    const path = resolve(dirname(from), isAgentPath(name) ? name : `${name}.ai`);
    return isFile(path) ? path : null;
  }
  const beside = besideNames(name, from)
    .map((file) => join(dirname(from), file))
    .find(isFile);
  if (beside !== undefined) return beside;
  const given = names.get(name);
  if (given !== undefined) return given;
  return findByName(name, ports.foldersFor(from), folders);
};

/** An agent of another runtime names those beside it as it names itself there. */
const besideNames = (name: string, from: string): readonly string[] => [
  `${name}.ai`,
  ...(isAgentFile(from)
    ? []
    : [name, name.toLowerCase()].flatMap((one) => [`${one}.agent.md`, `${one}.md`, `${one}.ai`])),
];

/** Searches these folders and everything below them. */
const findByName = (
  name: string,
  folders: readonly string[],
  known = new Map<string, ReadonlyMap<string, string>>(),
): string | null => {
  for (const folder of folders) {
    const found = indexFolder(folder, known).get(name);
    if (found !== undefined) return found;
  }
  return null;
};

/** The agents in a folder by name; for a file, that file alone. Each folder is searched once. */
const indexFolder = (folder: string, known: Map<string, ReadonlyMap<string, string>>): ReadonlyMap<string, string> => {
  let names = known.get(folder);
  if (names === undefined) {
    const kind = pathKind(folder);
    const files = kind === 'folder' ? listAgentFiles(folder) : kind === 'file' ? [folder] : [];
    names = new Map(files.toReversed().map((path) => [agentNameFromPath(path), path]));
    known.set(folder, names);
  }
  return names;
};

// Finds an agent by name: in the working folder, in `agents` below it, in the folders of the config, or in the home folder.
export const findAgent = async (
  name: string,
  configs: Configs,
  known = new Map<string, ReadonlyMap<string, string>>(),
): Promise<string | null> => {
  if (name.includes('/')) return null;
  const here = join(configs.launch.cwd, `${name}.ai`);
  if (pathKind(here) === 'file') return here;
  await configs.read([]);
  return findByName(name, searchedFolders(configs), known);
};

const searchedFolders = (configs: Configs): readonly string[] => [
  join(configs.launch.cwd, 'agents'),
  ...configs.forFile(null).folders,
];

/** For a name that `findAgent` does not find: a sentence with the nearest one that it does, or nothing. */
export const suggestAgent = async (name: string, configs: Configs): Promise<string> => {
  await configs.read([]);
  const here = readdirSync(configs.launch.cwd).filter((file) => file.endsWith('.ai'));
  const known = new Map<string, ReadonlyMap<string, string>>();
  const elsewhere = searchedFolders(configs).flatMap((folder) => [...indexFolder(folder, known).keys()]);
  const nearest = nearestName(name, [...here.map((file) => agentNameFromPath(file)), ...elsewhere]);
  return nearest === null ? '' : ` Did you mean "${nearest}"?`;
};
