// `audit`: verifies a run.
import type { RunArchive, RunReport } from '#contracts';
import { auditLines } from './shared/audit-lines.ts';
import { defineCommand } from './shared/define-command.ts';
import type { CommandContext } from './shared/define-command.ts';
import { plural } from '#headends/run-view';
import { exitCode, UsageError } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import { openRunToRead, openToRead, resolveRun } from './shared/find-and-open.ts';
import { optionalArgument, textOption, workspaceOption } from './shared/options.ts';
import { sanitizeAll } from './shared/sanitize-text.ts';

export default defineCommand({
  about: 'verify every crossing of a run and rebuild every prompt',
  examples: ['cloister audit last', 'cloister audit --against /backup/cloister.seal'],
  arguments: { run: optionalArgument('a run id, a prefix of one, `last`, or the archive of a run') },
  options: {
    ...workspaceOption,
    against: textOption('<file>', 'instead, compare the whole workspace with the seals in this file'),
    key: textOption('<key>', 'with --against: the operator’s public key (default: that of CLOISTER_KEY)'),
  },
  run: async ({ run: named, ...rest }, context) => {
    const { runtime, output } = context;
    if (rest.against !== null) return auditAgainst({ ...rest, against: rest.against }, context);
    if (named === null) throw new UsageError("missing required argument 'run'", 'name a run, `last`, or use --against');
    const given = { ...rest, run: named };
    await using cloister = await openRunToRead(given, runtime);
    const run = await resolveRun(cloister, given.run);
    const report = await cloister.audit(run);
    const events = given.json ? [] : await eventsOf(cloister, run);
    output.result(given.json, report, ({ paint }) => auditLines(sanitizeAll(report), sanitizeAll(events), paint));
    return report.ok ? exitCode.completed : exitCode.config;
  },
});

type SealsToCheck = {
  readonly workspace: string;
  readonly against: string;
  readonly key: string | null;
  readonly json: boolean;
};

const auditAgainst = async (
  { workspace, against, key, json }: SealsToCheck,
  { runtime, files, output }: CommandContext,
): Promise<ExitCode> => {
  const file = await files.readText(against);
  await using cloister = await openToRead(workspace, runtime);
  const report = await cloister.storage.checkSeals(file, key === null ? {} : { key });
  output.result(json, report, ({ paint }) => {
    const { ok, seals, runs, keys, problems } = sanitizeAll(report);
    const verdict = ok ? paint('green', 'ok') : paint('red', plural(problems.length, 'problem'));
    const signed = keys.length === 0 ? 'not signed' : `signed with ${keys.join(', ')}`;
    return [
      `${paint('bold', 'Seals:')} ${plural(seals, 'seal')}, ${signed} · ${plural(runs, 'run')} · ${verdict}`,
      ...problems.map(({ where, message }) => `  ${paint('red', where)}: ${message}`),
    ];
  });
  return report.ok ? exitCode.completed : exitCode.config;
};

/** A damaged run cannot be shown, but its audit must still be printed. */
const eventsOf = async (archive: RunArchive, run: string): Promise<RunReport['events']> => {
  try {
    return (await archive.show(run)).events;
  } catch {
    return [];
  }
};
