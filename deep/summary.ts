// Output of the deep lane: each failure when it is found, and a summary at the end.
import type { Options } from './options.ts';
import type { Finding, TrialReport, Trial } from './trial.ts';

export type TrialResult = {
  readonly trial: Pick<Trial, 'name' | 'about'>;
  readonly report: TrialReport;
  readonly findings: readonly Finding[];
  readonly ms: number;
  /** Skipping it was requested. */
  readonly isExcused: boolean;
};

/** Maximum detail lines shown per failure. */
const detailsMax = 12;

export const failureText = (trial: string, { what, details, rerun, folder }: Finding): string =>
  [
    `FAILED ${trial}: ${what}`,
    ...details.slice(0, detailsMax).map((detail) => `  ${detail}`),
    ...(details.length > detailsMax ? [`  … ${details.length - detailsMax} more`] : []),
    `  rerun: ${rerun}`,
    ...(folder === undefined ? [] : [`  folder kept: ${folder}`]),
  ].join('\n');

export const summaryText = (results: readonly TrialResult[], { seed, minutes }: Options, ms: number): string => {
  const found = results.reduce((sum, one) => sum + one.findings.length, 0);
  const skipped = results.filter(({ report }) => report.skipped !== undefined).length;
  return [
    '',
    ...results.flatMap((one) => [headLine(one), ...one.report.lines.map((line) => `  ${line}`)]),
    '',
    `${found === 0 ? 'no problems found' : `${found} problem${found === 1 ? '' : 's'} found`}${skipped === 0 ? '' : `, ${skipped} skipped`}; ` +
      `seed ${seed}; ${(ms / 60_000).toFixed(1)} of ${minutes} minutes`,
  ].join('\n');
};

const headLine = ({ trial: { name, about }, report, findings, ms }: TrialResult): string => {
  if (report.skipped !== undefined) return `– ${name}: skipped: ${report.skipped}`;
  const mark = findings.length === 0 ? '✓' : '✗';
  return `${mark} ${name}: ${about} (${Math.round(ms / 1_000)} s)`;
};
