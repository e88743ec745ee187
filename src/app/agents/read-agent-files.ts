// Reads agent files and those that they name, and collects everything that is wrong with any of them.
import { readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { JsonObject } from '#base';
import type { AgentFile, AgentReference, ParseYaml, Problem } from '#contracts';
import { nearest, parseAgentFile } from '#core/registry';
import { agentFilesIn, isAgentFile, kindOf } from './find-files.ts';
import { shownPath } from './place.ts';
import type { Place } from './place.ts';

/** A file with the paths of the agents that it names. */
export type LinkedFile = {
  readonly path: string;
  readonly file: AgentFile;
  readonly agents: readonly { readonly path: string; readonly reference: AgentReference }[];
};

export type AgentFiles = { readonly linked: ReadonlyMap<string, LinkedFile>; readonly problems: readonly Problem[] };

export type ReadPorts = {
  readonly place: Place;
  readonly parseYaml: ParseYaml;
  checkSchema(schema: JsonObject): string | null;
  /** Folders where agents are looked for by name, nearest first. */
  foldersFor(path: string): readonly string[];
};

const bytesMax = 1_000_000;

/** Stops after each file by itself when `follow` is false. */
export const readAgentFiles = (paths: readonly string[], follow: boolean, ports: ReadPorts): AgentFiles => {
  const linked = new Map<string, LinkedFile>();
  const problems: Problem[] = [];
  const names = new Map(paths.map((path) => [basename(path, '.ai'), path]));
  const queue = [...paths];
  const seen = new Set(paths);
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    const read = readOne(path, ports);
    problems.push(...read.problems);
    if (read.file === null) continue;
    const agents = follow ? link(path, read.file, { names, problems, ports }) : [];
    linked.set(path, { path, file: read.file, agents });
    for (const { path: next } of agents)
      if (!seen.has(next)) {
        seen.add(next);
        queue.push(next);
      }
  }
  return { linked, problems };
};

const readOne = (path: string, ports: ReadPorts): ReturnType<typeof parseAgentFile> => {
  const shown = shownPath(path, ports.place);
  const broken = (message: string) => ({
    file: null,
    problems: [{ file: shown, line: null, key: null, message, nearest: null }],
  });
  try {
    const { size } = statSync(path);
    if (size > bytesMax)
      return broken(`It has ${size} bytes; an agent file may have ${bytesMax}. Move data out of it.`);
    return parseAgentFile(shown, readFileSync(path, 'utf8'), ports);
  } catch (error) {
    return broken(`It cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}. Check its permissions.`);
  }
};

type Known = { readonly names: Map<string, string>; readonly problems: Problem[]; readonly ports: ReadPorts };

const link = (path: string, file: AgentFile, { names, problems, ports }: Known): LinkedFile['agents'] =>
  (file.frontmatter.agents ?? []).flatMap((reference, index) => {
    const found = locate(reference.agent, path, names, ports);
    if (found !== null) return [{ path: found, reference }];
    const known = siblings(path, names);
    problems.push({
      file: file.path,
      line: file.lines[`agents.${index}`] ?? file.lines['agents'] ?? null,
      key: 'agents',
      message: `There is no agent ${JSON.stringify(reference.agent)}: give a path from this file, or the name of an agent beside it, in \`agents\` of .ai-agent.json, or in the home folder.`,
      nearest: nearest(reference.agent, known),
    });
    return [];
  });

/** A path from the file that names it; or a name: beside that file, among those given, or in a folder for agents. */
const locate = (name: string, from: string, names: Map<string, string>, ports: ReadPorts): string | null => {
  const isFile = (path: string): boolean => kindOf(path) === 'file';
  if (isAgentFile(name) || name.includes('/')) {
    const path = resolve(dirname(from), isAgentFile(name) ? name : `${name}.ai`);
    return isFile(path) ? path : null;
  }
  const beside = join(dirname(from), `${name}.ai`);
  if (isFile(beside)) return beside;
  const given = names.get(name);
  if (given !== undefined) return given;
  return findByName(name, ports.foldersFor(from));
};

/** In these folders, or below them. */
export const findByName = (name: string, folders: readonly string[]): string | null => {
  for (const folder of folders) {
    if (kindOf(folder) === 'file') {
      if (basename(folder) === `${name}.ai`) return folder;
      continue;
    }
    if (kindOf(folder) === 'missing') continue;
    const found = agentFilesIn(folder).find((path) => basename(path) === `${name}.ai`);
    if (found !== undefined) return found;
  }
  return null;
};

const siblings = (path: string, names: Map<string, string>): readonly string[] => [
  ...names.keys(),
  ...agentFilesIn(dirname(path)).map((one) => basename(one, '.ai')),
];
