// Reads agent files and those that they name, and collects everything that is wrong with any of them.
import { nearestName } from '#base';
import { readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { JsonObject } from '#base';
import type { AgentFile, AgentReference, InvalidAgentFile, ParseYaml, Problem } from '#contracts';
import { parseAgentFile } from '#core/registry';
import type { ParsedFile } from '#core/registry';
import { agentFilesIn, isAgentFile, pathKind } from './find-files.ts';
import { shownPath } from './launch-environment.ts';
import type { LaunchEnvironment } from './launch-environment.ts';

/** A file with the paths of the agents that it names. */
export type LinkedFile = {
  readonly path: string;
  readonly file: AgentFile;
  readonly agents: readonly { readonly path: string; readonly reference: AgentReference }[];
  /** Files of those that it may spawn; `self` stands for itself. */
  readonly spawns: readonly string[];
};

export const selfReference = 'self';

export type AgentFiles = {
  readonly linked: ReadonlyMap<string, LinkedFile>;
  /** Those that are not valid, as far as they could be read, by path. */
  readonly broken: ReadonlyMap<string, InvalidAgentFile>;
  readonly problems: readonly Problem[];
};

export type ReadPorts = {
  readonly place: LaunchEnvironment;
  readonly parseYaml: ParseYaml;
  checkSchema(schema: JsonObject): string | null;
  /** Folders where agents are looked for by name, nearest first. */
  foldersFor(path: string): readonly string[];
};

const bytesMax = 1_000_000;

/** Stops after each file by itself when `follow` is false. */
export const readAgentFiles = (paths: readonly string[], follow: boolean, ports: ReadPorts): AgentFiles => {
  const linked = new Map<string, LinkedFile>();
  const broken = new Map<string, InvalidAgentFile>();
  const problems: Problem[] = [];
  const names = new Map(paths.map((path) => [basename(path, '.ai'), path]));
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
  const shown = shownPath(path, ports.place);
  const broken = (message: string) => ({
    file: null,
    problems: [{ file: shown, line: null, key: null, message, nearest: null }],
  });
  try {
    const stat = statSync(path);
    if (!stat.isFile()) return broken('It is not a regular file; put one in its place.');
    const { size } = stat;
    if (size > bytesMax)
      return broken(`It has ${size} bytes; an agent file may have ${bytesMax}. Move data out of it.`);
    return parseAgentFile(shown, readFileSync(path, 'utf8'), ports);
  } catch (error) {
    return broken(`It cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}. Check its permissions.`);
  }
};

/** What is known of where agents lie. */
export type AgentIndex = {
  readonly names: Map<string, string>;
  /** What was found in folders that were searched, by name. */
  readonly folders: Map<string, ReadonlyMap<string, string>>;
  readonly problems: Problem[];
  readonly ports: ReadPorts;
};

/** Beyond so many, what was meant is not looked for. */
const nearestMax = 50;

const linkAgents = (path: string, file: InvalidAgentFile, known: AgentIndex): LinkedFile['agents'] =>
  (file.frontmatter.agents ?? []).flatMap((reference: AgentReference | undefined, index) => {
    // What could not be read of a list leaves a gap in it.
    if (reference === undefined) return [];
    const found = locate(reference.agent, path, known);
    if (found !== null) return [{ path: found, reference }];
    unknownAgentProblem(reference.agent, { path, file, key: 'agents', index }, known);
    return [];
  });

/** One that names its own file means another one of its own kind. */
const linkSpawns = (path: string, file: InvalidAgentFile, known: AgentIndex): LinkedFile['spawns'] =>
  (file.frontmatter.spawns?.agents ?? []).flatMap((reference: string | undefined, index) => {
    if (reference === undefined) return [];
    const found = reference === selfReference ? path : locate(reference, path, known);
    if (found !== null) return [found === path ? selfReference : found];
    const key = file.lines['spawns.agents'] === undefined ? 'spawns' : 'spawns.agents';
    unknownAgentProblem(reference, { path, file, key, index }, known);
    return [];
  });

/** Where a name stands. */
export type AgentMention = {
  readonly path: string;
  readonly file: Pick<InvalidAgentFile, 'path' | 'lines'>;
  readonly key: string;
  readonly index: number;
};

export const unknownAgentProblem = (
  name: string,
  { path, file, key, index }: AgentMention,
  known: AgentIndex,
): void => {
  const { names, folders, problems } = known;
  problems.push({
    file: file.path,
    line: file.lines[`${key}.${index}`] ?? file.lines[key] ?? null,
    key,
    message: `There is no agent ${JSON.stringify(name)}: give a path from this file, or the name of an agent beside it, in \`agents\` of .ai-agent.json, or in the home folder.`,
    nearest:
      problems.length < nearestMax
        ? nearestName(name, [...names.keys(), ...namesIn(dirname(path), folders).keys()])
        : null,
  });
};

/** A path from the file that names it; or a name: beside that file, among those given, or in a folder for agents. */
export const locate = (name: string, from: string, { names, folders, ports }: AgentIndex): string | null => {
  const isFile = (path: string): boolean => pathKind(path) === 'file';
  if (isAgentFile(name) || name.includes('/')) {
    const path = resolve(dirname(from), isAgentFile(name) ? name : `${name}.ai`);
    return isFile(path) ? path : null;
  }
  const beside = join(dirname(from), `${name}.ai`);
  if (isFile(beside)) return beside;
  const given = names.get(name);
  if (given !== undefined) return given;
  return findByName(name, ports.foldersFor(from), folders);
};

/** In these folders, or below them. */
export const findByName = (
  name: string,
  folders: readonly string[],
  known = new Map<string, ReadonlyMap<string, string>>(),
): string | null => {
  for (const folder of folders) {
    const found = namesIn(folder, known).get(name);
    if (found !== undefined) return found;
  }
  return null;
};

/** The agents of a folder by name, or the one that the path is; each is searched once. */
const namesIn = (folder: string, known: Map<string, ReadonlyMap<string, string>>): ReadonlyMap<string, string> => {
  let names = known.get(folder);
  if (names === undefined) {
    const kind = pathKind(folder);
    const files = kind === 'folder' ? agentFilesIn(folder) : kind === 'file' ? [folder] : [];
    names = new Map(files.toReversed().map((path) => [basename(path, '.ai'), path]));
    known.set(folder, names);
  }
  return names;
};
