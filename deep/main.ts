// npm run test:deep: checks that take longer than a test may. Real crashes first, then long lanes for the remaining minutes.
// Exit code 0: no problem was found; 1: a problem was found, or a trial could not run; 4: the arguments are invalid.
import { rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { setUpStrace } from '../tools/deep-setup.ts';
import { buildSubject, repo } from './build-subject.ts';
import { clients } from './clients.ts';
import { faults } from './faults.ts';
import { kills } from './kills.ts';
import { longLanes } from './long-lanes.ts';
import { parseOptions, usage } from './options.ts';
import type { Options } from './options.ts';
import { powerCuts } from './power-cuts.ts';
import { failureText, summaryText } from './summary.ts';
import type { TrialResult } from './summary.ts';
import type { Finding, TrialReport, TrialContext, Trial } from './trial.ts';

const crashes: readonly Trial[] = [powerCuts, kills, faults, clients];
const trials = [...crashes, ...longLanes];

const main = async (args: readonly string[]): Promise<number> => {
  const list = trials.map(({ name, about }) => `  ${name.padEnd(12)}${about}`).join('\n');
  if (args.includes('--help')) return print(`${usage}\n\nTrials:\n${list}`, 0);
  const options = parseOptions(
    args,
    trials.map(({ name }) => name),
  );
  if (typeof options === 'string') return print(`${options}\n\n${usage}\n\nTrials:\n${list}`, 4);
  console.log(`seed ${options.seed}, ${options.minutes} minutes`);
  const scratch = join(repo, 'test/.planted', `deep-${process.pid}`);
  process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
  const startedAt = Date.now();
  const results = await runTrials(options, scratch, startedAt);
  console.log(summaryText(results, options, Date.now() - startedAt));
  return results.every(
    ({ report, findings, isExcused }) => findings.length === 0 && (report.skipped === undefined || isExcused),
  )
    ? 0
    : 1;
};

const runTrials = async (options: Options, scratch: string, startedAt: number): Promise<readonly TrialResult[]> => {
  const chosen = trials.filter(({ name }) => options.only.length === 0 || options.only.includes(name));
  const source = options.source === null ? repo : resolve(options.source);
  const wanted = chosen.filter((trial) => crashes.includes(trial));
  const whole = options.minutes * 60_000;
  const tried: TrialResult[] = [];
  if (wanted.length > 0) {
    const subject = await buildSubject(scratch, { source });
    for (const trial of wanted) {
      // The last trial may use the remaining time when no long lane follows.
      const part = chosen.at(-1) === trial ? 1 : trial.deadlineFraction;
      const context = createContext(trial, options, startedAt + whole * part);
      tried.push(await runTrial(trial, { ...context, subject, scratch, source }, options));
    }
  }
  tried.push(...(await runLongLanes(chosen, options, startedAt + whole)));
  return tried;
};

/** Runs one lane per core at a time; each lane gets an equal share of the remaining time. */
const runLongLanes = async (
  chosen: readonly Trial[],
  options: Options,
  end: number,
): Promise<readonly TrialResult[]> => {
  const lanes = chosen.filter((trial) => longLanes.includes(trial));
  const processes = availableParallelism();
  const tried: TrialResult[] = [];
  for (let at = 0; at < lanes.length; at += processes) {
    const rounds = Math.ceil((lanes.length - at) / processes);
    const until = Date.now() + Math.max(0, end - Date.now()) / rounds;
    const group = lanes.slice(at, at + processes);
    const none = { subject: { script: '', server: '', command: '', name: '' }, scratch: '', source: '' };
    tried.push(
      ...(await Promise.all(
        group.map((trial) => runTrial(trial, { ...createContext(trial, options, until), ...none }, options)),
      )),
    );
  }
  return tried;
};

const createContext = (
  { name }: Trial,
  { seed, case: only }: Options,
  until: number,
): Omit<TrialContext, 'subject' | 'scratch' | 'source' | 'report'> => ({
  seed,
  until,
  case: only,
  processes: availableParallelism(),
  rerunCommand: (one) => `npm run test:deep -- --only ${name} --seed ${seed}${one === '' ? '' : ` --case ${one}`}`,
  progress: (text) => {
    if (process.stderr.isTTY) process.stderr.write(`\r\u001B[K${name}: ${text}`);
  },
});

const runTrial = async (trial: Trial, given: Omit<TrialContext, 'report'>, options: Options): Promise<TrialResult> => {
  const from = Date.now();
  const findings: Finding[] = [];
  const context: TrialContext = {
    ...given,
    report: (one) => {
      findings.push(one);
      clearLine();
      console.log(failureText(trial.name, one));
    },
  };
  const strace = trial.needsStrace ? checkStrace(options) : { ready: true as const };
  const report: TrialReport = strace.ready
    ? await trial.run(context).catch((error: unknown) => reportCrash(error, context))
    : { lines: [], skipped: strace.why };
  clearLine();
  return { trial, report, findings, ms: Date.now() - from, isExcused: options.withoutStrace && !strace.ready };
};

const clearLine = (): void => {
  if (process.stderr.isTTY) process.stderr.write('\r\u001B[K');
};

const checkStrace = ({ withoutStrace }: Options): ReturnType<typeof setUpStrace> =>
  withoutStrace ? { ready: false, why: 'it needs strace, and --without-strace is set' } : setUpStrace();

/** Reports the crash as a finding; the lane continues with the other trials. */
const reportCrash = (error: unknown, { rerunCommand, report }: TrialContext): TrialReport => {
  const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
  report({ what: 'the trial itself failed', details: words.split('\n'), rerun: rerunCommand('') });
  return { lines: [] };
};

const print = (text: string, code: number): number => {
  (code === 0 ? console.log : console.error)(text);
  return code;
};

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
process.exitCode = await main(process.argv.slice(2));
