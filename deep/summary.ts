// What the lane says: each failure when it is found, and at the end what was tried.
import type { Options } from './options.ts';
import type { Found, Report, Trial } from './trial.ts';

export type Tried = {
  readonly trial: Pick<Trial, 'name' | 'about'>;
  readonly report: Report;
  readonly found: readonly Found[];
  readonly ms: number;
  /** Not trying it was asked for. */
  readonly excused: boolean;
};

/** What one failure may take of the screen. */
const detailsMax = 12;

export const failureText = (trial: string, { what, details, again, left }: Found): string =>
  [
    `FOUND by ${trial}: ${what}`,
    ...details.slice(0, detailsMax).map((detail) => `  ${detail}`),
    ...(details.length > detailsMax ? [`  … ${details.length - detailsMax} more`] : []),
    `  again: ${again}`,
    ...(left === undefined ? [] : [`  left as it was: ${left}`]),
  ].join('\n');

export const summaryText = (tried: readonly Tried[], { seed, minutes }: Options, ms: number): string => {
  const found = tried.reduce((sum, one) => sum + one.found.length, 0);
  const untried = tried.filter(({ report }) => report.notTried !== undefined).length;
  return [
    '',
    ...tried.flatMap((one) => [headOf(one), ...one.report.tried.map((line) => `  ${line}`)]),
    '',
    `${found === 0 ? 'nothing was found' : `${found} found`}${untried === 0 ? '' : `, ${untried} not tried`}; ` +
      `seed ${seed}; ${(ms / 60_000).toFixed(1)} of ${minutes} minutes`,
  ].join('\n');
};

const headOf = ({ trial: { name, about }, report, found, ms }: Tried): string => {
  if (report.notTried !== undefined) return `– ${name}: not tried: ${report.notTried}`;
  const mark = found.length === 0 ? '✓' : '✗';
  return `${mark} ${name}: ${about} (${Math.round(ms / 1_000)} s)`;
};
