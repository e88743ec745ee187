// `audit`: verifies a run.
import type { RunArchive, RunReport } from '#contracts';
import { auditLines } from './shared/audit-lines.ts';
import { defineCommand } from './shared/define-command.ts';
import { exitCode } from './shared/errors.ts';
import { openRunToRead, resolveRun } from './shared/find-and-open.ts';
import { runArgument, workspaceOption } from './shared/options.ts';
import { sanitizeAll } from './shared/sanitize-text.ts';

export default defineCommand({
  about: 'verify every crossing of a run and rebuild every prompt',
  examples: ['cloister audit last'],
  arguments: runArgument,
  options: workspaceOption,
  run: async (given, { runtime, output }) => {
    await using cloister = await openRunToRead(given, runtime);
    const run = await resolveRun(cloister, given.run);
    const report = await cloister.audit(run);
    const events = given.json ? [] : await eventsOf(cloister, run);
    output.result(given.json, report, ({ paint }) => auditLines(sanitizeAll(report), sanitizeAll(events), paint));
    return report.ok ? exitCode.completed : exitCode.config;
  },
});

/** A damaged run cannot be shown, but its audit must still be printed. */
const eventsOf = async (archive: RunArchive, run: string): Promise<RunReport['events']> => {
  try {
    return (await archive.show(run)).events;
  } catch {
    return [];
  }
};
