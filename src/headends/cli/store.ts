// `store`: stores in PostgreSQL: their tables, and what is copied between them and workspaces.
import type { CopyReport } from './shared/cli-world.ts';
import { defineCommand, defineGroup } from './shared/define-command.ts';
import { exitCode } from './shared/errors.ts';
import { textOption } from './shared/options.ts';
import { sanitizeLine } from './shared/sanitize-text.ts';

const url = 'postgres://me@db.example/work';

const migrate = defineCommand({
  about: 'make the tables of a store in PostgreSQL, or migrate those of an earlier version',
  examples: [`cloister store migrate --store ${url}`],
  notes: ['Before an upgrade, stop all processes that use the store, and make a backup.'],
  options: { store: textOption('<url>', 'its address (default: CLOISTER_STORE)') },
  run: async ({ store, json }, { runtime, output }) => {
    const report = await runtime.migrateStore(store);
    const { from, to } = report;
    output.result(json, report, () => [
      from === to
        ? `${sanitizeLine(report.store)} has version ${to} of the tables, the newest one. Nothing was changed.`
        : `${sanitizeLine(report.store)}: ${from === 0 ? 'made' : `migrated from version ${from} to`} version ${to} of the tables.`,
    ]);
    return exitCode.completed;
  },
});

const copy = defineCommand({
  about: 'copy all runs of a workspace into PostgreSQL, or back; every log is checked on the way',
  examples: [`cloister store copy --from ./.cloister --to ${url}`, `cloister store copy --from ${url} --to ./copy`],
  notes: [
    'The target must be empty. Nothing may run in the source meanwhile.',
    'If it is interrupted, nothing was copied: repeat it.',
    'Files of agents are not copied: they follow from the logs.',
  ],
  options: {
    from: { ...textOption('<place>', 'a workspace folder or an address'), required: true },
    to: { ...textOption('<place>', 'a workspace folder or an address'), required: true },
  },
  run: async ({ from, to, json }, { runtime, output }) => {
    const report = await runtime.copyStore(from ?? '', to ?? '');
    output.result(json, report, () => copyLines(report));
    return exitCode.completed;
  },
});

const copyLines = ({ runs, frames, blobs, records, tombstones, signals }: CopyReport): readonly string[] => [
  `Copied ${runs} runs (${frames} records), ${blobs} large values, ${records} records of the workspace log, ${tombstones} tombstones and ${signals} signals.`,
  'All hashes are those of the source.',
];

export default defineGroup({
  about: 'make or migrate a store in PostgreSQL, or copy a workspace into it',
  examples: [`cloister store migrate --store ${url}`, `cloister store copy --from ./.cloister --to ${url}`],
  commands: { migrate, copy },
});
