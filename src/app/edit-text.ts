// Lets the user change a text in the editor that VISUAL or EDITOR names.
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EditorResult } from '#headends/cli';

/** Null: no editor is set. */
export const editText = async (text: string): Promise<EditorResult | null> => {
  const { VISUAL, EDITOR } = process.env;
  const editor = VISUAL || EDITOR;
  if (!editor) return null;
  // Only this user can read it.
  const folder = await mkdtemp(join(tmpdir(), 'cloister-edit-'));
  try {
    const file = join(folder, 'arguments.json');
    await writeFile(file, text);
    const problem = await runEditor(editor, file);
    return problem === null
      ? { text: await readFile(file, 'utf8') }
      : { problem: `The editor \`${editor}\` ${problem}.` };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/** The variable may hold options too, as in `code --wait`. Null: it ended well. */
const runEditor = (editor: string, file: string): Promise<string | null> =>
  new Promise((resolve) => {
    const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, editor, file], { stdio: 'inherit' });
    child.on('error', ({ message }) => resolve(`could not be started: ${message}`));
    child.on('close', (code, signal) =>
      resolve(code === 0 ? null : code === null ? `was ended by ${signal}` : `ended with exit code ${code}`),
    );
  });
