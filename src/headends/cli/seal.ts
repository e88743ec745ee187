// `seal`: appends the heads of all logs to a file outside the workspace.
import { plural } from '#headends/run-view';
import { defineCommand } from './shared/define-command.ts';
import { exitCode } from './shared/errors.ts';
import { openToRead } from './shared/find-and-open.ts';
import { refuseUnwritable, readOrExplain, writeOrExplain } from './shared/given-file.ts';
import { requiredArgument, workspaceOption } from './shared/options.ts';
import { sanitizeLine } from './shared/sanitize-text.ts';

const elsewhere = 'choose another file, or make room for it';

export default defineCommand({
  about: 'append the heads of all logs, signed with the operator’s key, to a file outside the workspace',
  examples: ['cloister seal /backup/cloister.seal', 'cloister audit --against /backup/cloister.seal'],
  arguments: { file: requiredArgument('the file to append to; it is created if it is missing') },
  options: workspaceOption,
  run: async ({ file, workspace, json }, { runtime, files, output }) => {
    await using cloister = await openToRead(workspace, runtime);
    await refuseUnwritable(file, files, elsewhere);
    const before = await readOrExplain(file, () => readIfThere(file, files), { what: 'the file' });
    const line = await cloister.storage.seal(before);
    await writeOrExplain(file, () => files.appendText(file, line), elsewhere);
    const { runs, records, key } = JSON.parse(line) as { runs: object; records: number; key: string | null };
    const sealed = Object.keys(runs).length;
    output.result(json, { file, runs: sealed, records, key }, () => [
      `${sanitizeLine(file)}: ${plural(sealed, 'run')} new or longer since the seal before, ${plural(records, 'record')} of the workspace log.`,
      key === null ? 'It is not signed: `cloister key` makes a key for the operator.' : `Signed with ${key}.`,
    ]);
    return exitCode.completed;
  },
});

const readIfThere = async (
  file: string,
  { readText }: { readonly readText: (path: string) => Promise<string> },
): Promise<string> => {
  try {
    return await readText(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
};
