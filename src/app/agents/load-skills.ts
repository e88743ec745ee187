// Reads skills from their folders: the `SKILL.md` and the files beside it. They are read once, when an agent is loaded.
//
//   skills-allowed-folders. An agent file names folders below its own, or in folders that the operator's config lists. A link
//       that leads elsewhere is refused.
//   skill-files-plain. Links, hidden files and special files of a skill are not read; binary and large files are only listed.
import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import type { Dirent } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CloisterError, sha256, utf8Bytes } from '#base';
import type { ParseYaml, Problem, Skill } from '#contracts';
import { parseYaml as parsePlainYaml } from '#adapters/yaml';
import { parseSkillFile } from '#core/registry';
import { hasSkillFile, pathKind, skillFileName } from './find-files.ts';
import { formatProblem } from './problems.ts';

type FoundSkills = {
  readonly skills: readonly Skill[];
  readonly problems: readonly Problem[];
  /** What is not used as written, each with the path of its `SKILL.md`. */
  readonly notes: readonly string[];
};

/** `problem`: why the reference itself is wrong. */
type ResolvedReference = { readonly folder: string } | { readonly problem: string };

const skillsMax = 500;
const filesMax = 500;
const depthMax = 8;
const fileBytesMax = 1_000_000;
const skillBytesMax = 8_000_000;
const allBytesMax = 32_000_000;

/** Reads each skill once, however many agents have it. */
export class SkillReader {
  readonly #known = new Map<string, FoundSkills>();
  readonly #display: (path: string) => string;
  readonly #parseYaml: ParseYaml;

  constructor(display: (path: string) => string, parseYaml: ParseYaml = parsePlainYaml) {
    this.#display = display;
    this.#parseYaml = parseYaml;
  }

  /** The skills of a folder: itself, if it has a `SKILL.md`, otherwise the folders in it that have one. */
  read(folder: string): FoundSkills {
    const known = this.#known.get(folder);
    if (known !== undefined) return known;
    const entries = listFolder(folder);
    const inside = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'));
    const folders = hasSkillFile(entries)
      ? [folder]
      : inside.map(({ name }) => join(folder, name)).filter((path) => hasSkillFile(listFolder(path)));
    const found =
      folders.length === 0 || folders.length > skillsMax
        ? this.#problem(folder, folders.length === 0 ? noSkill(entries) : `There are more than ${skillsMax} skills.`)
        : merge(folders.map((path) => this.#readOne(path)));
    this.#known.set(folder, found);
    return found;
  }

  #readOne(folder: string): FoundSkills {
    const path = join(folder, skillFileName);
    const file = readPlainFile(path);
    if (file === null || typeof file !== 'string')
      return this.#problem(path, `It cannot be read: ${file === null ? 'it is not a regular file' : file.why}.`);
    const { skill, problems, notes } = parseSkillFile(this.#display(path), file, basename(folder), this.#parseYaml);
    const shown = notes.map((note) => `${this.#display(path)}: ${note}`);
    if (skill === null) return { skills: [], problems, notes: shown };
    const files = readSkillFiles(folder);
    if ('problem' in files) return this.#problem(folder, files.problem);
    return {
      skills: [{ ...skill, files: files.files }],
      problems,
      notes: [...shown, ...files.notes.map((note) => `${this.#display(folder)}: ${note}`)],
    };
  }

  #problem(path: string, message: string): FoundSkills {
    const problem = { file: this.#display(path), line: null, key: null, message, nearest: null };
    return { skills: [], problems: [problem], notes: [] };
  }
}

const merge = (all: readonly FoundSkills[]): FoundSkills => ({
  skills: all.flatMap(({ skills }) => skills),
  problems: all.flatMap(({ problems }) => problems),
  notes: all.flatMap(({ notes }) => notes),
});

const noSkill = (entries: readonly Dirent[]): string => {
  const similar = entries.find(({ name }) => name.toLowerCase() === 'skill.md');
  return similar === undefined
    ? 'Neither this folder nor a folder in it has a `SKILL.md`.'
    : `Rename ${similar.name} to \`SKILL.md\`.`;
};

/** Sorted, so that the definition is the same on every disk. Empty if it cannot be read. */
const listFolder = (folder: string): readonly Dirent[] => {
  try {
    return readdirSync(folder, { withFileTypes: true }).sort((one, other) => (one.name < other.name ? -1 : 1));
  } catch {
    return [];
  }
};

type SkillFiles = { readonly files: NonNullable<Skill['files']>; readonly notes: readonly string[] };

const readSkillFiles = (folder: string): SkillFiles | { readonly problem: string } => {
  const files = Object.create(null) as Record<string, NonNullable<Skill['files']>[string]>;
  const notes: string[] = [];
  let [count, bytes] = [0, 0];
  const queue: { readonly path: string; readonly level: number }[] = [{ path: '', level: 0 }];
  for (const { path: below, level } of queue)
    for (const entry of listFolder(join(folder, below))) {
      const path = below === '' ? entry.name : `${below}/${entry.name}`;
      if (entry.name.startsWith('.') || path === skillFileName) continue;
      if (++count > filesMax) return { problem: `It has more than ${filesMax} files.` };
      const file = entry.isFile() && isPlainPath(path) ? readPlainFile(join(folder, path)) : null;
      if (entry.isDirectory() && level < depthMax && isPlainPath(path)) queue.push({ path, level: level + 1 });
      else if (file === null) notes.push(`${JSON.stringify(path.slice(0, 200))} is not read: ${whyNotRead(entry)}.`);
      else {
        bytes += typeof file === 'string' ? utf8Bytes(file) : 0;
        if (bytes > skillBytesMax) return { problem: `Its files have more than ${skillBytesMax} bytes of text.` };
        files[path] = file;
      }
    }
  return { files, notes };
};

const whyNotRead = (entry: Dirent): string => {
  if (entry.isSymbolicLink()) return 'it is a link';
  if (entry.isDirectory()) return `folders are read down to ${depthMax} levels`;
  return entry.isFile() ? 'its name or its permissions do not allow it' : 'it is not a regular file';
};

/** A path that a model can be shown, and can write. */
const isPlainPath = (path: string): boolean => path.length <= 400 && !/[\p{Cc}\\\uFFFD\u2028\u2029]/u.test(path);

/** Its text; for a binary or large file its size; null for anything that is not a regular file. Never waits, follows no link. */
const readPlainFile = (path: string): NonNullable<Skill['files']>[string] | null => {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    const stat = fstatSync(file);
    if (!stat.isFile()) return null;
    if (stat.size > fileBytesMax) return { bytes: stat.size, why: 'too large to read' };
    const content = readFileSync(file);
    return decode(content) ?? { bytes: content.length, why: 'not text', sha256: sha256(content) };
  } catch {
    return null;
  } finally {
    if (file !== undefined) closeSync(file);
  }
};

const decode = (content: Uint8Array): string | null => {
  if (content.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    return null;
  }
};

/** `folders`: those that the operator's config lists. */
export const resolveSkillFolder = (
  reference: string,
  agentFile: string,
  folders: readonly string[],
): ResolvedReference => {
  const own = dirname(agentFile);
  const isPath = reference.includes('/') || reference.startsWith('.');
  const candidates = [own, ...(isPath ? [] : folders)].map((folder) => resolve(folder, reference));
  const path = candidates.find((one) => pathKind(one) === 'folder');
  if (path === undefined)
    return {
      problem: isPath
        ? `No folder ${JSON.stringify(reference)} was found. Use a path relative to this file.`
        : `No skill ${JSON.stringify(reference)} was found beside this file or in \`skills\` of .ai-agent.json.`,
    };
  const real = realpathSync(path);
  if (isBelow(own, real) || folders.some((folder) => isSame(folder, real) || isBelow(folder, real)))
    return { folder: real };
  return {
    problem: `${JSON.stringify(reference)} is not below the folder of this file. The operator can list its folder in \`skills\` of .ai-agent.json.`,
  };
};

const realFolder = (folder: string): string | null => {
  try {
    return realpathSync(folder);
  } catch {
    return null;
  }
};

const isSame = (folder: string, real: string): boolean => realFolder(folder) === real;

const isBelow = (folder: string, real: string): boolean => {
  const base = realFolder(folder);
  const between = base === null ? '' : relative(base, real);
  return between !== '' && !isAbsolute(between) && between.split(sep)[0] !== '..';
};

/** Why the skills of one agent are too many; null: they are not. */
export const tooManySkills = (skills: readonly Skill[]): string | null => {
  if (skills.length > skillsMax) return `An agent can have at most ${skillsMax} skills; these are ${skills.length}.`;
  const texts = skills.flatMap(({ instructions, files = {} }) => [instructions, ...Object.values(files)]);
  const bytes = texts.reduce<number>((sum, text) => sum + (typeof text === 'string' ? utf8Bytes(text) : 0), 0);
  return bytes > allBytesMax ? `The skills of an agent can have at most ${allBytesMax} bytes of text in total.` : null;
};

/** The skills of a folder, for `skills` of `defineAgent`. Relative paths are relative to the working folder. Throws `agent_invalid`. */
export const loadSkills = (folder: string | URL): readonly Skill[] => {
  const path = resolve(typeof folder === 'string' ? folder : fileURLToPath(folder));
  const real = pathKind(path) === 'folder' ? realpathSync(path) : null;
  if (real === null)
    throw new CloisterError('agent_invalid', `loadSkills: there is no folder ${JSON.stringify(path)}.`);
  const { skills, problems } = new SkillReader((one) => one).read(real);
  if (problems.length > 0)
    throw new CloisterError('agent_invalid', `loadSkills:\n${problems.map(formatProblem).join('\n')}\n`);
  const tooMany = tooManySkills(skills);
  if (tooMany !== null) throw new CloisterError('agent_invalid', `loadSkills: ${tooMany}`);
  return skills;
};
