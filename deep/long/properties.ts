// Property tests with fresh seeds, until the time is up. A failing property does not stop the lane.
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repeatCommand } from '../../test/test-seed.ts';
import { repo } from '../build-subject.ts';
import { parseLaneArguments, printLine } from './print-line.ts';

type TestReport = {
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly status: string;
    readonly assertionResults: readonly {
      readonly title: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
};

const { seed, until } = parseLaneArguments();
/** Enough to make the start of the test runner cheap, few enough to end in time. */
const filesAtOnce = 8;

/** Properties are in the test file itself, or in one of the suites that several adapters share. */
const files = globSync('test/**/*.test.ts', { cwd: repo, exclude: ['test/.planted/**'] })
  .filter((file) => /fc\.assert\(|\/conformance\//u.test(readFileSync(join(repo, file), 'utf8')))
  .sort();

const runFiles = (names: readonly string[], testSeed: number): TestReport | string => {
  const folder = mkdtempSync(join(tmpdir(), 'cloister-deep-'));
  const report = join(folder, 'report.json');
  const vitest = join(repo, 'node_modules/vitest/vitest.mjs');
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [vitest, 'run', '--reporter=json', `--outputFile=${report}`, ...names],
    { cwd: repo, encoding: 'utf8', env: { ...process.env, TEST_SEED: String(testSeed) }, maxBuffer: 1e9 },
  );
  try {
    return JSON.parse(readFileSync(report, 'utf8')) as TestReport;
  } catch {
    return `${stdout}\n${stderr}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

const reportFailures = ({ testResults }: TestReport, testSeed: number): void => {
  for (const { name, message, status, assertionResults } of testResults) {
    const whole = repeatCommand({ seed: testSeed, path: null, file: name.slice(repo.length) });
    const failed = assertionResults.filter((one) => one.status === 'failed');
    if (status === 'failed' && failed.length === 0)
      printLine({ finding: { what: name, details: message.split('\n'), rerun: whole } });
    for (const { title, failureMessages } of failed) {
      const text = failureMessages.join('\n');
      const rerun = /^Repeat: (.+)$/mu.exec(text)?.[1] ?? whole;
      printLine({ finding: { what: title, details: text.split('\n'), rerun } });
    }
  }
};

for (let round = 0; Date.now() < until; round++)
  for (let at = 0; at < files.length && Date.now() < until; at += filesAtOnce) {
    const [names, testSeed] = [files.slice(at, at + filesAtOnce), seed + round];
    const trying = repeatCommand({ seed: testSeed, path: null, file: names.join(' ') });
    printLine({ trying });
    const report = runFiles(names, testSeed);
    if (typeof report === 'string')
      printLine({ finding: { what: 'the tests did not run', details: report.split('\n').slice(-20), rerun: trying } });
    else reportFailures(report, testSeed);
    printLine({ tried: names.length, of: 'files with property tests' });
  }
