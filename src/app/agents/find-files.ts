// Expands the given paths: `.ai` files, team files, modules, and folders searched for `.ai` files.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import type { Dirent } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { isAgentPath, nearestName } from '#base';
import type { Problem } from '#contracts';
import { parseYaml } from '#adapters/yaml';
import { isForeignAgent } from '#core/registry';
import { displayPath } from './launch-environment.ts';
import type { LaunchEnvironment } from './launch-environment.ts';

type AgentPaths = {
  /** All paths, in the order given. */
  readonly all: readonly string[];
  readonly files: readonly string[];
  /** Only team files that were named: other YAML files in a folder may be anything. */
  readonly teams: readonly string[];
  readonly modules: readonly string[];
  readonly problems: readonly Problem[];
};

export const isAgentFile = (path: string): boolean => path.endsWith('.ai');

export const isTeamFile = (path: string): boolean => /\.ya?ml$/u.test(path);

export const isModule = (path: string): boolean => /\.[cm]?[jt]s$/u.test(path);

export const findFiles = (paths: readonly string[], launch: LaunchEnvironment): AgentPaths => {
  const found = new Map<string, 'file' | 'team' | 'module'>();
  const problems: Problem[] = [];
  const problem = (path: string, message: string, nearest: string | null = null): void =>
    void problems.push({ file: displayPath(path, launch), line: null, key: null, message, nearest });
  for (const given of paths) {
    const path = resolve(launch.cwd, given);
    const kind = pathKind(path);
    if (kind === 'missing') problem(path, 'No such file or folder; check the path.', nearestFile(path));
    else if (kind === 'folder') for (const file of listAgentFiles(path)) found.set(file, 'file');
    else if (isAgentPath(path)) found.set(path, 'file');
    else if (isTeamFile(path)) found.set(path, 'team');
    else if (isModule(path)) found.set(path, 'module');
    else
      problem(
        path,
        'Expected an agent file (.ai, or .md of another runtime), a team file (.yaml), a module (.ts, .js, .mjs), or a folder.',
      );
  }
  const all = [...found.keys()];
  const ofKind = (kind: string): readonly string[] => all.filter((path) => found.get(path) === kind);
  return { all, files: ofKind('file'), teams: ofKind('team'), modules: ofKind('module'), problems };
};

/** What the same folder has under a similar name. */
const nearestFile = (path: string): string | null => {
  try {
    const names = readdirSync(dirname(path)).filter((name) => isAgentPath(name) || isTeamFile(name) || isModule(name));
    return nearestName(basename(path), names);
  } catch {
    return null;
  }
};

export const pathKind = (path: string): 'file' | 'folder' | 'missing' => {
  try {
    return statSync(path).isDirectory() ? 'folder' : 'file';
  } catch {
    // The path does not exist, or is not a valid name.
    return 'missing';
  }
};

/** All agent files below a folder. */
export const listAgentFiles = (folder: string): readonly string[] => listFiles(folder, isAgentFile);

/** What makes a folder a skill. */
export const skillFileName = 'SKILL.md';

export const hasSkillFile = (entries: readonly Dirent[]): boolean => entries.some(({ name }) => name === skillFileName);

/**
 * All files below a folder with such names, sorted. Skips hidden folders, node_modules, and skills, whose files are texts for
 * models; does not follow links to folders.
 */
const listFiles = (folder: string, isWanted: (name: string) => boolean): readonly string[] => {
  const files: string[] = [];
  const pending = [folder];
  for (let current = pending.pop(); current !== undefined; current = pending.pop()) {
    const entries = readEntries(current);
    if (current !== folder && hasSkillFile(entries)) continue;
    for (const entry of entries) {
      if (entry.isDirectory()) {
        if (!entry.name.startsWith('.') && entry.name !== 'node_modules') pending.push(join(current, entry.name));
      } else if (isWanted(entry.name)) files.push(join(current, entry.name));
    }
  }
  return files.sort();
};

/** Folders in which other runtimes look for agents; they are hidden. */
const foreignFolders = ['.claude/agents', '.github/agents', '.github/chatmodes'];

/** The agents of other runtimes in a folder, below it, and where such a runtime looks for them. Other Markdown is passed over. */
export const listForeignAgents = (folder: string): readonly string[] => {
  const folders = [folder, ...foreignFolders.map((hidden) => join(folder, hidden))];
  const files = folders.flatMap((one) => listFiles(one, (name) => name.endsWith('.md')));
  return [...new Set(files)].filter(isForeign);
};

const bytesMax = 1_000_000;

/** Whether a file is an agent of another runtime. */
export const isForeign = (path: string): boolean => {
  try {
    return statSync(path).size <= bytesMax && isForeignAgent(path, readFileSync(path, 'utf8'), parseYaml);
  } catch {
    return false;
  }
};

/** An unreadable folder counts as empty. */
const readEntries = (folder: string): readonly Dirent[] => {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
};
