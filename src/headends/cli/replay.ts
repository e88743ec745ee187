// `replay`: re-executes a run from its log alone.
import type { Outcome, ReplayDifference, ReplayReport } from '#contracts';
import { count, plural } from '#headends/run-view';
import { defineCommand } from './shared/define-command.ts';
import { exitCode } from './shared/errors.ts';
import { findNamedRun, openForRun } from './shared/find-and-open.ts';
import { agentsOptions, runArgument, workspaceOption } from './shared/options.ts';
import type { Screen } from './shared/output.ts';
import { sanitizeAll, sanitizeLine, wrapText } from './shared/sanitize-text.ts';

export default defineCommand({
  about: 're-execute a run from its log, offline, and compare every record',
  examples: ['cloister replay last'],
  arguments: runArgument,
  options: { ...agentsOptions, ...workspaceOption },
  run: async (given, { runtime, output }) => {
    const { run } = await findNamedRun(given, runtime);
    await using cloister = await openForRun(run, { ...given, offline: true, archive: given.run }, runtime);
    const report = await cloister.replay(run);
    output.result(given.json, report, (printer) =>
      replayLines(sanitizeAll({ ...report, events: [] }), given.verbose, printer),
    );
    return report.ok ? exitCode.completed : exitCode.config;
  },
});

const differencesMax = 20;

/** The report must be sanitized. */
const replayLines = (report: ReplayReport, verbose: boolean, printer: Screen): readonly string[] => {
  const { paint } = printer;
  const { run, ok, frames, same, hash, outcome, differences } = report;
  const shown = verbose ? differences : differences.slice(0, differencesMax);
  const more = differences.length - shown.length;
  const verdict = ok ? paint('green', 'ok') : paint('red', plural(Math.max(1, differences.length), 'difference'));
  return [
    `${paint('bold', `Replay of ${run}:`)} ${count(same)} of ${plural(frames, 'record')} identical · ${verdict}`,
    `recorded  ${hash.recorded}`,
    `replayed  ${hash.replayed}`,
    `status    ${outcome?.status ?? 'unfinished'}`,
    ...(shown.length === 0 ? [] : ['', paint('bold', 'The current code and agents would behave differently:')]),
    ...shown.flatMap((difference) => differenceLines(difference, printer)),
    ...(more === 0 ? [] : [`  … and ${plural(more, 'more difference')}: use --verbose for all`]),
    ...(outcome === null || outcome.output === ''
      ? []
      : ['', paint('bold', outputTitle(outcome)), outcome.output.trimEnd()]),
  ];
};

/** What a stopped run said last may be no answer. */
const outputTitle = ({ status }: Outcome): string =>
  status === 'completed' || status === 'partial' ? 'Answer:' : 'Said last:';

const differenceLines = (
  { frame, cell, agent, op, what }: ReplayDifference,
  { paint, columns }: Screen,
): readonly string[] => {
  const where = op === null ? cell : `${cell}/${op}`;
  const record = frame === null ? 'not in the log' : `record ${count(frame)}`;
  const title = `  ${sanitizeLine(where)} (${sanitizeLine(agent)}), ${record}`;
  return [paint('yellow', title), ...wrapText('    ', what, columns)];
};
