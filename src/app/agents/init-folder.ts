// `cloister init`: writes two agents, a config and an env example, ready to run.
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync, chmodSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CloisterError } from '#base';

/** Names in the package, and names in the folder: npm does not pack all files with a leading dot. */
const files: readonly (readonly [from: string, to: string])[] = [
  ['lead.ai', 'lead.ai'],
  ['researcher.ai', 'researcher.ai'],
  ['ai-agent.json', '.ai-agent.json'],
  ['ai-agent.env.example', '.ai-agent.env.example'],
  ['rehearsal.yaml', 'rehearsal.yaml'],
];

const ignored = ['.ai-agent.env', '.cloister/'];

/** Throws `folder_taken` before anything is written if one of the files exists. */
export const initFolder = (
  folder: string,
  templates: URL,
  cwd: string,
): { folder: string; files: readonly string[] } => {
  const target = resolve(cwd, folder);
  const existing = files.map(([, to]) => to).filter((to) => existsSync(join(target, to)));
  if (existing.length > 0)
    throw new CloisterError('folder_taken', `${target} already contains ${existing.join(', ')}; nothing was changed.`);
  try {
    makeFolder(target);
    for (const [from, to] of files) copyFileSync(fileURLToPath(new URL(from, templates)), join(target, to));
    chmodSync(join(target, 'lead.ai'), 0o755);
    return { folder: target, files: [...files.map(([, to]) => to), ...ignoreSecrets(target)] };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CloisterError('folder_taken', `${target} cannot be written (${code ?? 'unknown'}).`, { cause: error });
  }
};

/** Level by level: where no folder can be created, a recursive mkdir may never return. */
const makeFolder = (folder: string): void => {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  mkdirSync(folder);
};

/** Keys and runs do not belong in version control. */
const ignoreSecrets = (folder: string): readonly string[] => {
  const path = join(folder, '.gitignore');
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  const missing = ignored.filter((line) => !lines.includes(line));
  if (missing.length === 0) return [];
  const before = lines.length > 0 ? `${lines.join('\n').replace(/\n*$/u, '')}\n` : '';
  writeFileSync(path, `${before}${missing.join('\n')}\n`);
  return ['.gitignore'];
};
