// Lets the user change a text in the editor that VISUAL or EDITOR names.
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Null: no editor is set, or it failed. */
export const editText = async (text: string): Promise<string | null> => {
  const { VISUAL, EDITOR } = process.env;
  const editor = VISUAL || EDITOR;
  if (!editor) return null;
  // Only this user can read it.
  const folder = await mkdtemp(join(tmpdir(), 'cloister-edit-'));
  try {
    const file = join(folder, 'arguments.json');
    await writeFile(file, text);
    return (await runEditor(editor, file)) ? await readFile(file, 'utf8') : null;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/** The variable may hold options too, as in `code --wait`. */
const runEditor = (editor: string, file: string): Promise<boolean> =>
  new Promise((resolve) => {
    const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, editor, file], { stdio: 'inherit' });
    child.on('error', () => resolve(false));
    child.on('close', (code) => resolve(code === 0));
  });
