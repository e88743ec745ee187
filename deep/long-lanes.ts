// Lanes that find more the longer they run, each in a process of its own, until its time is over.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { LongLine } from './long/tell.ts';
import type { Report, Setting, Trial } from './trial.ts';

const longLane = (name: string, about: string): Trial => ({
  name,
  about,
  untilPart: 1,
  needsStrace: false,
  run: (setting) => runLong(fileURLToPath(new URL(`long/${name}.ts`, import.meta.url)), setting),
});

export const longLanes: readonly Trial[] = [
  longLane('seeds', 'the whole runtime simulated, from seeds that nobody has tried'),
  longLane('pairs', 'two-run pairs of agents in code, from fresh seeds'),
  longLane('teams', 'two-run pairs of teams in files, from fresh seeds'),
  longLane('callers', 'callers at once over every protocol, from fresh seeds'),
  longLane('verify', 'cloister verify on the example team, from fresh seeds'),
];

const runLong = async (script: string, { seed, until, progress, again, found }: Setting): Promise<Report> => {
  const args = ['--conditions=cloister-source', script, String(seed), String(until)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const end = (): void => void child.kill('SIGKILL');
  process.once('exit', end);
  const tried = new Map<string, number>();
  let notTried: string | undefined;
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  for await (const text of createInterface({ input: child.stdout })) {
    const line = JSON.parse(text) as LongLine;
    if ('found' in line) found(line.found);
    else if ('notTried' in line) notTried = line.notTried;
    else tried.set(line.of, (tried.get(line.of) ?? 0) + line.tried);
    progress([...tried].map(([of, count]) => `${count} ${of}`).join(', '));
  }
  const code = await ended;
  process.off('exit', end);
  if (code !== 0) found({ what: `it ended with ${code}`, details: stderr.trim().split('\n'), again: again('') });
  return {
    tried: [...tried].map(([of, count]) => `${count} ${of}`),
    ...(notTried === undefined ? {} : { notTried }),
  };
};
