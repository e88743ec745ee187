// `migrate`: brings a workspace of an earlier format to the newest one.
import type { CommandContext } from './shared/command-context.ts';
import { exitCode } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import type { MigrateRequest } from './shared/request.ts';
import { sanitizeLine } from './shared/sanitize-text.ts';

export const migrateCommand = async (request: MigrateRequest, { world, output }: CommandContext): Promise<ExitCode> => {
  const report = await world.migrate(request.workspace);
  const { from, to, writtenBy, copy } = report;
  const writer = writtenBy === null ? '' : `, last written by ${sanitizeLine(writtenBy)}`;
  if (request.json) output.json(report);
  else if (copy === null)
    output.out.print(`The workspace has format ${to}, the newest one${writer}. Nothing was changed.`);
  else
    output.out.print(
      `Migrated from format ${from} to format ${to}.`,
      `The former database is kept beside it: ${sanitizeLine(copy)}`,
    );
  return exitCode.completed;
};
