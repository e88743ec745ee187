// A folder with the given files, removed when the test is over.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { removeAbandoned } from '../planted/folders.ts';
import { scratchFolder } from '../scratch-folder.ts';

/** By path; values other than text are written as JSON. */
export type Files = Readonly<Record<string, string | object>>;

export const temporaryFolder = async (files: Files = {}): Promise<AsyncDisposable & { readonly path: string }> => {
  const path = newTemporaryFolder();
  writeFiles(path, files);
  return { path, [Symbol.asyncDispose]: async () => rmSync(path, { recursive: true, force: true }) };
};

export const newTemporaryFolder = (): string => {
  const parent = (cleaned ??= clean(scratchFolder()));
  return mkdtempSync(join(parent, `${prefix}${process.pid}-`));
};

const prefix = 'cloister-isolation-';
let cleaned: string | undefined;
const clean = (parent: string): string => {
  removeAbandoned(parent, prefix);
  return parent;
};

/** Synchronous: a promise for each of many small files takes longer than the files. */
export const writeFiles = (folder: string, files: Files): void => {
  const made = new Set<string>();
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    if (!made.has(dirname(path))) mkdirSync(dirname(path), { recursive: true });
    made.add(dirname(path));
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  }
};

/** An `.ai` file: JSON is YAML. */
export const aiFile = (frontmatter: object, prompt = 'You work.'): string =>
  `---\n${JSON.stringify({ description: 'Works.', usage: 'Ask.', output: { format: 'text' }, ...frontmatter })}\n---\n${prompt}\n`;
