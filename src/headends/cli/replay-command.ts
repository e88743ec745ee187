// `replay`: a run made again from its log alone.
import type { ReplayDifference, ReplayReport } from '#contracts';
import type { CommandContext } from './command-context.ts';
import { exitCode } from './exit-code.ts';
import type { ExitCode } from './exit-code.ts';
import { count, plural } from './format-numbers.ts';
import { findNamedRun, openForRun } from './open-for-run.ts';
import type { Page } from './output.ts';
import type { ReplayRequest } from './request.ts';
import { sanitizeAll, sanitizeLine } from './sanitize-text.ts';
import { wrapText } from './wrap-text.ts';

export const replayCommand = async (request: ReplayRequest, desk: CommandContext): Promise<ExitCode> => {
  const { output } = desk;
  const found = await findNamedRun(request, desk);
  await using cloister = await openForRun(found, request, desk, true);
  const report = await cloister.replay(found.run);
  if (request.json) output.json(report);
  else output.out.print(...replayLines(sanitizeAll({ ...report, events: [] }), request.verbose, output.out));
  return report.ok ? exitCode.completed : exitCode.config;
};

const differencesMax = 20;

/** The report must be harmless. */
const replayLines = (report: ReplayReport, verbose: boolean, page: Page): readonly string[] => {
  const { paint } = page;
  const { run, ok, frames, same, hash, outcome, differences } = report;
  const shown = verbose ? differences : differences.slice(0, differencesMax);
  const more = differences.length - shown.length;
  const verdict = ok ? paint('green', 'ok') : paint('red', plural(Math.max(1, differences.length), 'difference'));
  return [
    `${paint('bold', `Replay of ${run}:`)} ${count(same)} of ${plural(frames, 'record')} came out the same · ${verdict}`,
    `recorded  ${hash.recorded}`,
    `replayed  ${hash.replayed}`,
    `status    ${outcome?.status ?? 'it has no end'}`,
    ...(shown.length === 0 ? [] : ['', paint('bold', 'Today it would go otherwise:')]),
    ...shown.flatMap((difference) => differenceLines(difference, page)),
    ...(more === 0 ? [] : [`  … and ${plural(more, 'more difference')}: --verbose tells them all`]),
    ...(outcome === null || outcome.output === '' ? [] : ['', paint('bold', 'Answer:'), outcome.output.trimEnd()]),
  ];
};

const differenceLines = (
  { frame, cell, agent, op, what }: ReplayDifference,
  { paint, columns }: Page,
): readonly string[] => {
  const where = op === null ? cell : `${cell}/${op}`;
  const record = frame === null ? 'not in the log' : `record ${count(frame)}`;
  const title = `  ${sanitizeLine(where)} (${sanitizeLine(agent)}), ${record}`;
  return [paint('yellow', title), ...wrapText('    ', what, columns)];
};
