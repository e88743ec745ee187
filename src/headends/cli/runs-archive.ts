// `runs archive|restore|export|import`: moves runs into files and back.
import { formatBytes, plural } from '#headends/run-view';
import { defineCommand } from './shared/define-command.ts';
import { openToRead, resolveArchivedRun, resolveRun } from './shared/find-and-open.ts';
import { refuseUnwritable, readOrExplain, writeOrExplain } from './shared/given-file.ts';
import { letFinish } from './shared/let-finish.ts';
import { flagOption, requiredArgument, runArgument, textOption, workspaceOption } from './shared/options.ts';
import { sanitizeAll, sanitizeLine } from './shared/sanitize-text.ts';

const elsewhere = 'choose another file with --to';

const fileArgument = { file: requiredArgument('the archive of a run (.cloister.gz)') };

export const runsExport = defineCommand({
  about: 'write a run into one compressed file, which `show`, `audit`, `explain` and `replay` read, and `import` takes',
  examples: ['cloister runs export last', 'cloister runs export 4f2a --to run.cloister.gz'],
  arguments: runArgument,
  options: { ...workspaceOption, to: textOption('<file>', 'the file to write (default: <run>.cloister.gz)') },
  run: async (given, context) => {
    const { runtime, files, output } = context;
    await using cloister = await openToRead(given.workspace, runtime);
    const run = await resolveRun(cloister, given.run);
    const file = given.to ?? `${run}.cloister.gz`;
    await refuseUnwritable(file, files, elsewhere);
    const work = letFinish(context, { what: 'the export', otherwise: 'the file is then as it was before' });
    const bytes = await cloister.storage.export(run);
    await writeOrExplain(file, () => files.writeBytes(file, bytes), elsewhere);
    output.result(given.json, { run, file, bytes: bytes.length }, () => [
      `${sanitizeLine(file)}: run ${run}, ${formatBytes(bytes.length)}`,
    ]);
    return work.end();
  },
});

export const runsImport = defineCommand({
  about: 'take in a run from the file that `export` or `archive` has written, record by record as it was',
  examples: ['cloister runs import run.cloister.gz'],
  arguments: fileArgument,
  options: { ...workspaceOption, force: flagOption('although the run was deleted here') },
  run: async ({ file, force, workspace, json }, context) => {
    const { runtime, files, output } = context;
    const bytes = await readOrExplain(file, () => files.readBytes(file), { what: 'the archive' });
    await using cloister = await openToRead(workspace, runtime);
    const work = letFinish(context, {
      what: 'the import',
      otherwise: 'the run is then there as a whole, or not at all',
    });
    const run = await cloister.storage.import(bytes, { force });
    output.result(json, { run }, () => [`Imported run ${run}.`]);
    return work.end();
  },
});

export const runsArchive = defineCommand({
  about: 'move a run into a file in the folder `archive` of the workspace; what is left is a tombstone that names it',
  examples: ['cloister runs archive 4f2a'],
  arguments: runArgument,
  options: {
    ...workspaceOption,
    why: textOption('<text>', 'a reason, kept in the tombstone'),
    force: flagOption('although it has not ended, or others hold the same text'),
  },
  run: async (given, context) => {
    const { runtime, output } = context;
    const { force, why, json } = given;
    await using cloister = await openToRead(given.workspace, runtime);
    const run = await resolveRun(cloister, given.run);
    const work = letFinish(context, {
      what: 'the archive',
      otherwise: 'the run is then still here, or in its archive',
    });
    const report = await cloister.storage.archive([run], { force, ...(why === null ? {} : { why }) });
    output.result(json, report, () => {
      const { tombstones, left } = sanitizeAll(report);
      return [
        ...tombstones.map((one) => `Archived ${one.run}: ${sanitizeLine(one.archive?.file ?? '')}`),
        ...(left.length === 0
          ? []
          : [`The same text is also in ${plural(left.length, 'other place')}; --json lists them.`]),
      ];
    });
    return work.end();
  },
});

export const runsRestore = defineCommand({
  about: 'bring an archived run back, and remove its file',
  examples: ['cloister runs restore 4f2a6c1b9d3e'],
  arguments: { run: requiredArgument('the id of an archived run, or a prefix of it') },
  options: workspaceOption,
  run: async ({ run: name, workspace, json }, context) => {
    const { runtime, output } = context;
    await using cloister = await openToRead(workspace, runtime);
    const run = await resolveArchivedRun(cloister, name);
    const work = letFinish(context, {
      what: 'the restore',
      otherwise: 'the run is then here, or still in its archive',
    });
    await cloister.storage.restore(run);
    output.result(json, { run }, () => [`Restored run ${sanitizeLine(run)}.`]);
    return work.end();
  },
});
