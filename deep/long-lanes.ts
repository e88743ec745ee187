// Lanes that find more the longer they run. Each runs in its own process until its time is up.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { LongLine } from './long/print-line.ts';
import type { TrialReport, TrialContext, Trial } from './trial.ts';

const longLane = (name: string, about: string): Trial => ({
  name,
  about,
  deadlineFraction: 1,
  needsStrace: false,
  run: (context) => runLong(fileURLToPath(new URL(`long/${name}.ts`, import.meta.url)), context),
});

export const longLanes: readonly Trial[] = [
  longLane('seeds', 'simulation of the whole runtime with fresh seeds'),
  longLane('properties', 'property tests with fresh seeds'),
  longLane('pairs', 'two-run pairs of agents in code, with fresh seeds'),
  longLane('shapes', 'two-run pairs of teams of any shape, with fresh seeds'),
  longLane('teams', 'two-run pairs of teams in files, with fresh seeds'),
  longLane('schemas', 'hostile schemas and values, with fresh seeds'),
  longLane('callers', 'concurrent callers over every protocol, with fresh seeds'),
  longLane('verify', 'cloister verify on the example team, with fresh seeds'),
];

type LaneContext = Pick<TrialContext, 'seed' | 'until' | 'progress' | 'rerunCommand' | 'report'>;

export const runLong = async (
  script: string,
  { seed, until, progress, rerunCommand, report }: LaneContext,
): Promise<TrialReport> => {
  const args = ['--conditions=cloister-source', script, String(seed), String(until)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const end = (): void => void child.kill('SIGKILL');
  process.once('exit', end);
  const tried = new Map<string, number>();
  let skipped: string | undefined;
  let rerun = rerunCommand('');
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = new Promise<string | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve(code === 0 ? null : (signal ?? `exit code ${code}`)));
  });
  for await (const text of createInterface({ input: child.stdout })) {
    const line = JSON.parse(text) as LongLine;
    if ('finding' in line) report(line.finding);
    else if ('skipped' in line) skipped = line.skipped;
    else if ('trying' in line) rerun = line.trying;
    else tried.set(line.of, (tried.get(line.of) ?? 0) + line.tried);
    progress([...tried].map(([of, count]) => `${count} ${of}`).join(', '));
  }
  const death = await ended;
  process.off('exit', end);
  if (death !== null) report({ what: `the lane died: ${death}`, details: stderr.trim().split('\n'), rerun });
  return {
    lines: [...tried].map(([of, count]) => `${count} ${of}`),
    ...(skipped === undefined ? {} : { skipped }),
  };
};
