// Which files the given paths stand for: `.ai` files, team files, modules, and folders searched for `.ai` files.
import { readdirSync, statSync } from 'node:fs';
import type { Dirent } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Problem } from '#contracts';
import { shownPath } from './launch-environment.ts';
import type { LaunchEnvironment } from './launch-environment.ts';

export type AgentPaths = {
  /** All of them, in the order in which they were given. */
  readonly all: readonly string[];
  readonly files: readonly string[];
  /** Only those that were named: what a folder holds besides agents may be anything. */
  readonly teams: readonly string[];
  readonly modules: readonly string[];
  readonly problems: readonly Problem[];
};

export const isAgentFile = (path: string): boolean => path.endsWith('.ai');

export const isTeamFile = (path: string): boolean => /\.ya?ml$/u.test(path);

const isModule = (path: string): boolean => /\.[cm]?[jt]s$/u.test(path);

export const findFiles = (paths: readonly string[], place: LaunchEnvironment): AgentPaths => {
  const found = new Map<string, 'file' | 'team' | 'module'>();
  const problems: Problem[] = [];
  const problem = (path: string, message: string): void =>
    void problems.push({ file: shownPath(path, place), line: null, key: null, message, nearest: null });
  for (const given of paths) {
    const path = resolve(place.cwd, given);
    const kind = pathKind(path);
    if (kind === 'missing') problem(path, 'There is no such file or folder.');
    else if (kind === 'folder') for (const file of agentFilesIn(path)) found.set(file, 'file');
    else if (isAgentFile(path)) found.set(path, 'file');
    else if (isTeamFile(path)) found.set(path, 'team');
    else if (isModule(path)) found.set(path, 'module');
    else problem(path, 'Expected an agent file (.ai), a team file (.yaml), a module (.ts, .js, .mjs), or a folder.');
  }
  const all = [...found.keys()];
  const of = (kind: string): readonly string[] => all.filter((path) => found.get(path) === kind);
  return { all, files: of('file'), teams: of('team'), modules: of('module'), problems };
};

export const pathKind = (path: string): 'file' | 'folder' | 'missing' => {
  try {
    return statSync(path).isDirectory() ? 'folder' : 'file';
  } catch {
    // Not there, or a name that nothing can have.
    return 'missing';
  }
};

/** All below a folder, sorted; hidden folders and installed packages are left out, links to folders are not followed. */
export const agentFilesIn = (folder: string): readonly string[] => {
  const files: string[] = [];
  const open = [folder];
  for (let at = open.pop(); at !== undefined; at = open.pop())
    for (const entry of entriesOf(at)) {
      if (entry.isDirectory()) {
        if (!entry.name.startsWith('.') && entry.name !== 'node_modules') open.push(join(at, entry.name));
      } else if (isAgentFile(entry.name)) files.push(join(at, entry.name));
    }
  return files.sort();
};

/** A folder that may not be read holds nothing for us. */
const entriesOf = (folder: string): readonly Dirent[] => {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
};
