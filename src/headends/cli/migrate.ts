// `migrate`: brings a workspace of an earlier format to the newest one.
import type { MigrationReport } from '#contracts';
import { defineCommand } from './shared/define-command.ts';
import { exitCode } from './shared/errors.ts';
import { workspaceOption } from './shared/options.ts';
import { sanitizeLine } from './shared/sanitize-text.ts';

export default defineCommand({
  about: 'bring a workspace of an earlier format to the newest one; its database is kept as a copy',
  examples: ['cloister migrate --workspace ./.cloister'],
  options: workspaceOption,
  run: async ({ workspace, json }, { runtime, output }) => {
    const report = await runtime.migrate(workspace);
    output.result(json, report, () => migrationLines(report));
    return exitCode.completed;
  },
});

const migrationLines = ({ from, to, writtenBy, copy }: MigrationReport): readonly string[] => {
  const writer = writtenBy === null ? '' : `, last written by ${sanitizeLine(writtenBy)}`;
  return copy === null
    ? [`The workspace has format ${to}, the newest one${writer}. Nothing was changed.`]
    : [`Migrated from format ${from} to format ${to}.`, `The former database is kept beside it: ${sanitizeLine(copy)}`];
};
