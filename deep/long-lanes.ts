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
  longLane('pairs', 'two-run pairs of agents in code, with fresh seeds'),
  longLane('teams', 'two-run pairs of teams in files, with fresh seeds'),
  longLane('callers', 'concurrent callers over every protocol, with fresh seeds'),
  longLane('verify', 'cloister verify on the example team, with fresh seeds'),
];

const runLong = async (
  script: string,
  { seed, until, progress, rerunCommand, report }: TrialContext,
): Promise<TrialReport> => {
  const args = ['--conditions=cloister-source', script, String(seed), String(until)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const end = (): void => void child.kill('SIGKILL');
  process.once('exit', end);
  const tried = new Map<string, number>();
  let skipped: string | undefined;
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  for await (const text of createInterface({ input: child.stdout })) {
    const line = JSON.parse(text) as LongLine;
    if ('finding' in line) report(line.finding);
    else if ('skipped' in line) skipped = line.skipped;
    else tried.set(line.of, (tried.get(line.of) ?? 0) + line.tried);
    progress([...tried].map(([of, count]) => `${count} ${of}`).join(', '));
  }
  const code = await ended;
  process.off('exit', end);
  if (code !== 0)
    report({ what: `the lane exited with code ${code}`, details: stderr.trim().split('\n'), rerun: rerunCommand('') });
  return {
    lines: [...tried].map(([of, count]) => `${count} ${of}`),
    ...(skipped === undefined ? {} : { skipped }),
  };
};
