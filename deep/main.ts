// npm run test:deep: what takes longer than a test may. Real crashes first, then long lanes for the rest of the minutes.
// Exit code 0: nothing was found; 1: something was, or could not be tried; 4: the arguments are wrong.
import { rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { setUpStrace } from '../tools/deep-setup.ts';
import { buildSubject, repo } from './build-subject.ts';
import { faults } from './faults.ts';
import { kills } from './kills.ts';
import { longLanes } from './long-lanes.ts';
import { parseOptions, usage } from './options.ts';
import type { Options } from './options.ts';
import { powerCuts } from './power-cuts.ts';
import { failureText, summaryText } from './summary.ts';
import type { Tried } from './summary.ts';
import type { Found, Report, Setting, Trial } from './trial.ts';

const crashes: readonly Trial[] = [powerCuts, kills, faults];
const trials = [...crashes, ...longLanes];

const main = async (args: readonly string[]): Promise<number> => {
  const list = trials.map(({ name, about }) => `  ${name.padEnd(12)}${about}`).join('\n');
  if (args.includes('--help')) return say(`${usage}\n\nTrials:\n${list}`, 0);
  const options = parseOptions(
    args,
    trials.map(({ name }) => name),
  );
  if (typeof options === 'string') return say(`${options}\n\n${usage}\n\nTrials:\n${list}`, 4);
  console.log(`seed ${options.seed}, ${options.minutes} minutes`);
  const scratch = join(repo, 'test/.planted', `deep-${process.pid}`);
  process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
  const startedAt = Date.now();
  const tried = await tryAll(options, scratch, startedAt);
  console.log(summaryText(tried, options, Date.now() - startedAt));
  return tried.every(({ report, found, excused }) => found.length === 0 && (report.notTried === undefined || excused))
    ? 0
    : 1;
};

const tryAll = async (options: Options, scratch: string, startedAt: number): Promise<readonly Tried[]> => {
  const chosen = trials.filter(({ name }) => options.only.length === 0 || options.only.includes(name));
  const source = options.source === null ? repo : resolve(options.source);
  const wanted = chosen.filter((trial) => crashes.includes(trial));
  const whole = options.minutes * 60_000;
  const tried: Tried[] = [];
  if (wanted.length > 0) {
    const subject = await buildSubject(scratch, { source });
    for (const trial of wanted) {
      // The last of them may take what is left when no long lane follows.
      const part = chosen.at(-1) === trial ? 1 : trial.untilPart;
      const setting = settingOf(trial, options, startedAt + whole * part);
      tried.push(await tryOne(trial, { ...setting, subject, scratch, source }, options));
    }
  }
  tried.push(...(await tryLong(chosen, options, startedAt + whole)));
  return tried;
};

/** As many at once as there are cores; each has the same share of what is left. */
const tryLong = async (chosen: readonly Trial[], options: Options, end: number): Promise<readonly Tried[]> => {
  const lanes = chosen.filter((trial) => longLanes.includes(trial));
  const processes = availableParallelism();
  const tried: Tried[] = [];
  for (let at = 0; at < lanes.length; at += processes) {
    const rounds = Math.ceil((lanes.length - at) / processes);
    const until = Date.now() + Math.max(0, end - Date.now()) / rounds;
    const group = lanes.slice(at, at + processes);
    const none = { subject: { script: '', name: '' }, scratch: '', source: '' };
    tried.push(
      ...(await Promise.all(
        group.map((trial) => tryOne(trial, { ...settingOf(trial, options, until), ...none }, options)),
      )),
    );
  }
  return tried;
};

const settingOf = (
  { name }: Trial,
  { seed, case: only }: Options,
  until: number,
): Omit<Setting, 'subject' | 'scratch' | 'source' | 'found'> => ({
  seed,
  until,
  case: only,
  processes: availableParallelism(),
  again: (one) => `npm run test:deep -- --only ${name} --seed ${seed}${one === '' ? '' : ` --case ${one}`}`,
  progress: (text) => {
    if (process.stderr.isTTY) process.stderr.write(`\r\u001B[K${name}: ${text}`);
  },
});

const tryOne = async (trial: Trial, given: Omit<Setting, 'found'>, options: Options): Promise<Tried> => {
  const from = Date.now();
  const found: Found[] = [];
  const setting: Setting = {
    ...given,
    found: (one) => {
      found.push(one);
      clearLine();
      console.log(failureText(trial.name, one));
    },
  };
  const strace = trial.needsStrace ? straceFor(options) : { ready: true as const };
  const report: Report = strace.ready
    ? await trial.run(setting).catch((error: unknown) => broken(error, setting))
    : { tried: [], notTried: strace.why };
  clearLine();
  return { trial, report, found, ms: Date.now() - from, excused: options.withoutStrace && !strace.ready };
};

const clearLine = (): void => {
  if (process.stderr.isTTY) process.stderr.write('\r\u001B[K');
};

const straceFor = ({ withoutStrace }: Options): ReturnType<typeof setUpStrace> =>
  withoutStrace ? { ready: false, why: 'it needs strace, and --without-strace was given' } : setUpStrace();

/** The lane goes on with the other trials. */
const broken = (error: unknown, { again, found }: Setting): Report => {
  const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
  found({ what: 'the trial itself failed', details: words.split('\n'), again: again('') });
  return { tried: [] };
};

const say = (text: string, code: number): number => {
  (code === 0 ? console.log : console.error)(text);
  return code;
};

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
process.exitCode = await main(process.argv.slice(2));
