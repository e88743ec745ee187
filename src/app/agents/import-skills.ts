// The skills that `cloister import` finds. They work as they are, so nothing is written: the report says how to name them.
import { basename, dirname, join, relative } from 'node:path';
import type { ImportedFile, ImportNote } from '#contracts';
import { pathKind } from './find-files.ts';
import { SkillReader } from './load-skills.ts';

const skillFolders = ['.claude/skills', '.github/skills', '.agents/skills', 'skills'];

/** `folder`: what is imported; `to`: the folder of the agents. */
export const findForeignSkills = (
  folder: string,
  to: string,
  display: (path: string) => string,
): readonly ImportedFile[] => {
  // Beside `.claude/agents`.
  const beside = basename(folder) === 'agents' ? [join(dirname(folder), 'skills')] : [];
  const folders = [...skillFolders.map((one) => join(folder, one)), ...beside];
  return folders
    .filter((path) => pathKind(path) === 'folder')
    .flatMap((path): readonly ImportedFile[] => {
      const { skills, problems, notes } = new SkillReader(display).read(path);
      if (skills.length === 0) return [];
      const names = skills.map(({ name }) => name);
      return [
        {
          from: display(path),
          to: null,
          what: 'skills',
          state: 'found',
          notes: [
            note('decide', howToName(names, relative(to, path))),
            ...problems.map(({ file, message }) => note('decide', `${file}: ${message}`)),
            ...notes.map((text) => note('changed', text)),
          ],
        },
      ];
    });
};

const note = (kind: ImportNote['kind'], message: string): ImportNote => ({ kind, line: null, key: null, message });

const namesMax = 20;

/** `path`: of their folder, from that of the agents. */
const howToName = (names: readonly string[], path: string): string => {
  const shown = names.slice(0, namesMax).join(', ');
  const more = names.length > namesMax ? ` and ${names.length - namesMax} more` : '';
  const line = path.startsWith('..')
    ? `add \`"skills": [${JSON.stringify(path)}]\` to .ai-agent.json beside the agents, and \`skills: [${names[0]}]\` to those that are to have it`
    : `add \`skills: [./${path}/${names[0]}]\` to the agents that are to have it`;
  return `Skills: ${shown}${more}. No agent has them yet: ${line}.`;
};
