// `audit`: verifies a run.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { AuditReport, RunArchive, RunReport } from '#contracts';
import { auditLines, workspaceAuditLines } from './shared/audit-lines.ts';
import { defineCommand } from './shared/define-command.ts';
import type { CommandContext } from './shared/define-command.ts';
import { plural } from '#headends/run-view';
import { exitCode, UsageError } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import { openRunToRead, openToRead, resolveRun } from './shared/find-and-open.ts';
import { readOrExplain } from './shared/given-file.ts';
import { flagOption, optionalArgument, textOption, workspaceOption } from './shared/options.ts';
import { sanitizeAll } from './shared/sanitize-text.ts';

export default defineCommand({
  about: 'verify every crossing of a run, rebuild every prompt, and compare its files',
  examples: ['cloister audit last', 'cloister audit --all', 'cloister audit --against /backup/cloister.seal'],
  arguments: { run: optionalArgument('a run id, a prefix of one, `last`, or the archive of a run') },
  options: {
    ...workspaceOption,
    all: { ...flagOption('instead, every run, and what else is in the workspace'), conflicts: ['against'] },
    against: textOption('<file>', 'instead, compare the whole workspace with the seals in this file'),
    key: textOption('<key>', 'with --against: the operator’s public key (default: that of CLOISTER_KEY)'),
  },
  run: async ({ run: named, ...rest }, context) => {
    const { runtime, output } = context;
    if (rest.against !== null) return auditAgainst({ ...rest, against: rest.against }, context);
    if (rest.all && named !== null) throw new UsageError('a run and --all', 'name a run, or use --all');
    if (rest.all) return auditAll(rest, context);
    if (named === null)
      throw new UsageError("missing required argument 'run'", 'name a run, `last`, or use --all or --against');
    const given = { ...rest, run: named };
    await using cloister = await openRunToRead(given, runtime);
    const run = await resolveRun(cloister, given.run);
    const report = await cloister.audit(run);
    const events = given.json ? [] : await eventsOf(cloister, run);
    output.result(given.json, report, ({ paint }) => auditLines(sanitizeAll(report), sanitizeAll(events), paint));
    return report.ok ? exitCode.completed : exitCode.config;
  },
});

const auditAll = async (
  { workspace, json }: { readonly workspace: string; readonly json: boolean },
  { runtime, output }: CommandContext,
): Promise<ExitCode> => {
  await using cloister = await openToRead(workspace, runtime);
  const failed: AuditReport[] = [];
  const runs = await cloister.runs();
  for (const { run } of runs) {
    const report = await auditOf(cloister, run);
    if (report !== null && !report.ok) failed.push(report);
  }
  const besides = await cloister.storage.audit();
  const ok = failed.length === 0 && besides.ok;
  output.result(json, { ...besides, ok, runs: runs.length, failed }, ({ paint }) =>
    workspaceAuditLines(sanitizeAll({ workspace, runs: runs.length, failed, besides }), paint),
  );
  return ok ? exitCode.completed : exitCode.config;
};

/** Null for a run that was deleted meanwhile. What cannot be audited is a problem of its run, not the end of the audit. */
const auditOf = async (archive: RunArchive, run: RunId): Promise<AuditReport | null> => {
  try {
    return await archive.audit(run);
  } catch (error) {
    if (!(error instanceof CloisterError)) throw error;
    return error.code === 'run_unknown' ? null : unreadableRun(run, error);
  }
};

const unreadableRun = (run: RunId, { code, message }: CloisterError): AuditReport => ({
  run,
  recordedBy: null,
  ok: false,
  crossings: 0,
  refused: 0,
  prompts: 0,
  promptBytes: 0,
  unattributedBytes: 0,
  cells: 0,
  problems: [{ code, where: `run ${run}`, message }],
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
  const file = await readOrExplain(against, () => files.readText(against), { what: 'the file', option: '--against' });
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
    return (await archive.show(run, { events: 'refusals' })).events;
  } catch {
    return [];
  }
};
