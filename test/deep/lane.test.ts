import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { planLoop } from '../../deep/kills.ts';
import { runLong } from '../../deep/long-lanes.ts';
import { parseOptions } from '../../deep/options.ts';
import { parseTrace } from '../../deep/parse-trace.ts';
import { randomFrom } from '../../deep/random.ts';
import { countCalls, faultArgs } from '../../deep/strace.ts';
import { failureText, summaryText } from '../../deep/summary.ts';
import type { Finding } from '../../deep/trial.ts';
import { setUpStrace } from '../../tools/deep-setup.ts';
import type { RunProgram } from '../../tools/deep-setup.ts';

const trials = ['kills', 'faults'];

test('a seed gives the same numbers, orders and plans every time', () => {
  const draw = (seed: number) => {
    const random = randomFrom(seed, 'x');
    return [random.next(), random.whole(1_000), ...random.shuffled([1, 2, 3, 4, 5, 6, 7, 8])];
  };
  expect(draw(1)).toEqual(draw(1));
  expect(draw(1)).not.toEqual(draw(2));
  expect(new Set(draw(3).slice(2))).toEqual(new Set([1, 2, 3, 4, 5, 6, 7, 8]));
  expect(planLoop(5, 17, 100)).toEqual(planLoop(5, 17, 100));
  const plans = Array.from({ length: 200 }, (_, loop) => planLoop(5, loop, 100));
  expect(new Set(plans.map((plan) => JSON.stringify(plan))).size).toBeGreaterThan(150);
  expect(plans.some(({ rivals }) => rivals) && plans.some(({ kills }) => kills.length === 3)).toBe(true);
});

test.each([
  [['--minutes', '2', '--seed=7', '--only', 'kills,faults'], { minutes: 2, seed: 7, only: ['kills', 'faults'] }],
  [[], { minutes: 5, only: [], case: null, withoutStrace: false }],
  [['--only', 'faults', '--case', 'fsync/5/EIO', '--without-strace'], { case: 'fsync/5/EIO', withoutStrace: true }],
])('%j is understood', (args, options) => expect(parseOptions(args, trials)).toMatchObject(options));

test.each([
  [['--minute', '2'], 'Unknown option "--minute".'],
  [['--minutes'], '--minutes needs a value.'],
  [['--minutes', 'five'], '--minutes must be a number > 0; got "five".'],
  [['--minutes', '0'], '--minutes must be a number > 0; got "0".'],
  [['--seed', '-1'], '--seed must be a whole number ≥ 0; got "-1".'],
  [['--only', 'kill'], 'Unknown trial "kill". Available: kills, faults.'],
  [['--case', '3'], '--case needs --only with exactly one trial.'],
])('%j is rejected with a clear message', (args, words) => expect(parseOptions(args, trials)).toBe(words));

test('calls that strace prints in two parts return when they did, in the order of all threads', () => {
  const trace = [
    '1 fsync(3</a> <unfinished ...>',
    '2 write(4</b>, "\\x61", 1) = 1',
    '1 <... fsync resumed>) = 0',
    '2 +++ exited with 0 +++',
  ].join('\n');
  const seen = [...parseTrace(trace)].map(({ at, call }) => `${at} ${call.name} ${at === 'exit' ? call.result : ''}`);
  expect(seen).toEqual(['enter fsync ', 'enter write ', 'exit write 1', 'exit fsync 0']);
});

test('calls are counted by the thread that makes most of them, as strace counts for an injection', () => {
  const trace = ['1 fsync(3) = 0', '2 fsync(3) = 0', '2 fsync(3) = 0', '2 write(3, "") = 0', 'noise'].join('\n');
  expect([...countCalls(trace)]).toEqual([
    ['fsync', 2],
    ['write', 1],
  ]);
});

test('a full disk stays full, an error happens once, and a kill does not use the filter that cannot inject it', () => {
  const point = { call: 'fsync', nth: 3, paths: ['/w'] };
  expect(faultArgs('/o', point, 'ENOSPC')).toContain('inject=fsync:error=ENOSPC:when=3+');
  expect(faultArgs('/o', point, 'EIO')).toContain('inject=fsync:error=EIO:when=3');
  expect(faultArgs('/o', point, 'SIGKILL')).toContain('inject=fsync:signal=SIGKILL:when=3');
  expect(faultArgs('/o', point, 'SIGKILL')).not.toContain('--seccomp-bpf');
});

/** A machine with these programs; installing adds strace. */
const machine = (programs: string[], { words = '', injects = true } = {}): RunProgram & { ran: string[] } => {
  const ran: string[] = [];
  const run: RunProgram = (program, args) => {
    if (!programs.includes(program)) return { code: null, words: '' };
    ran.push([program, args[0]].join(' '));
    if (program === 'apt-get' && args[0] === 'install') programs.push('strace');
    const probing = program === 'strace' && args.includes('echo');
    return { code: probing && injects ? 1 : 0, words: probing ? words : '' };
  };
  return Object.assign(run, { ran });
};
const onLinux = (run: RunProgram, root = true) => setUpStrace({ platform: 'linux', root, run });

test('strace is used if present, installed by root where apt is available, and otherwise the message says what to install', () => {
  expect(onLinux(machine(['strace']))).toEqual({ ready: true });
  const fresh = machine(['apt-get']);
  expect(onLinux(fresh)).toEqual({ ready: true });
  expect(fresh.ran).toContain('apt-get install');
  const lacking = { ready: false, why: expect.stringContaining('apt-get install strace') };
  expect(onLinux(machine(['apt-get']), false)).toEqual(lacking);
  expect(onLinux(machine([]))).toEqual(lacking);
});

test('a machine where strace may not trace, or does not inject, is detected', () => {
  const refused = machine(['strace'], { words: 'strace: ptrace(PTRACE_TRACEME): Operation not permitted' });
  expect(onLinux(refused)).toMatchObject({ ready: false, why: expect.stringContaining('PTRACE_TRACEME') });
  expect(onLinux(machine(['strace'], { injects: false }))).toMatchObject({ ready: false });
  expect(setUpStrace({ platform: 'darwin', root: true, run: machine([]) })).toMatchObject({ ready: false });
});

test('a failure shows how to rerun it; the summary shows what ran, what was skipped, and the seed', () => {
  const finding = { what: 'loop 3', details: ['lost'], rerun: 'npm run test:deep -- --only kills --seed 7 --case 3' };
  expect(failureText('kills', finding)).toBe(
    'FAILED kills: loop 3\n  lost\n  rerun: npm run test:deep -- --only kills --seed 7 --case 3',
  );
  const options = { minutes: 5, only: [], seed: 7, case: null, withoutStrace: false, source: null };
  const results = [
    {
      trial: { name: 'kills', about: 'k' },
      report: { lines: ['3 loops'] },
      findings: [finding],
      ms: 2_000,
      isExcused: false,
    },
    {
      trial: { name: 'faults', about: 'f' },
      report: { lines: [], skipped: 'why' },
      findings: [],
      ms: 0,
      isExcused: false,
    },
  ];
  const text = summaryText(results, options, 60_000);
  expect(text).toContain('✗ kills: k (2 s)\n  3 loops\n– faults: skipped: why');
  expect(text).toContain('1 problem found, 1 skipped; seed 7; 1.0 of 5 minutes');
});

test('a lane that dies is reported with what it was trying', async () => {
  const findings: Finding[] = [];
  const { lines } = await runLong(fileURLToPath(new URL('dying-lane.ts', import.meta.url)), {
    seed: 7,
    until: 0,
    progress: () => undefined,
    rerunCommand: () => 'npm run test:deep',
    report: (finding) => findings.push(finding),
  });
  expect(lines).toEqual(['1 seeds']);
  expect(findings).toMatchObject([{ what: 'the lane died: SIGABRT', rerun: 'npm run sim -- --seed 2' }]);
});
