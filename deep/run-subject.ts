// Starts the subject as a process of its own, plainly or under strace, and hears how it ended.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Subject } from './build-subject.ts';
import type { Said } from './subject/main.ts';
import { witnessPath } from './subject/witness.ts';
import type { Line } from './subject/witness.ts';

export type Ended = {
  /** Null when a signal ended it. */
  readonly code: number | null;
  /** What it said last, if it came that far. */
  readonly said: Said | null;
  readonly stderr: string;
  readonly late: boolean;
  /** From `ready` on. */
  readonly ms: number;
};

export type Job = {
  readonly does: 'run' | 'go' | 'resume' | 'rival';
  readonly workspace: string;
  readonly by: number;
  /** It kills itself after it has told so many things, or this effect. */
  readonly dieAfter?: number | string;
  /** It is killed so long after it was ready. */
  readonly killAfterMs?: number;
  /** The arguments of strace, to run it under. */
  readonly strace?: readonly string[];
};

/** A run takes a fraction of a second; whoever needs this long hangs. */
const lateAfterMs = 60_000;

const living = new Set<() => void>();
process.on('exit', () => {
  for (const kill of living) kill();
});

export const runSubject = async ({ script }: Subject, job: Job): Promise<Ended> => {
  const { does, workspace, by, dieAfter = '', killAfterMs, strace } = job;
  const node = [process.execPath, script, does, workspace, String(by), String(dieAfter)];
  const [program = '', ...args] = strace === undefined ? node : ['strace', ...strace, ...node];
  // A group of its own: strace and what it runs can be ended together.
  const child = spawn(program, args, { detached: true, env: plainEnv(), stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = (): void => killGroup(child.pid);
  living.add(kill);
  const heard = { stdout: '', stderr: '', readyAt: performance.now(), late: false };
  const timers = [setTimeout(() => ((heard.late = true), kill()), lateAfterMs)];
  child.stderr.setEncoding('utf8').on('data', (text: string) => (heard.stderr += text));
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (heard.stdout === '') {
      heard.readyAt = performance.now();
      if (killAfterMs !== undefined) timers.push(setTimeout(kill, killAfterMs));
    }
    heard.stdout += text;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  for (const timer of timers) clearTimeout(timer);
  living.delete(kill);
  const ms = performance.now() - heard.readyAt;
  return { code, said: saidIn(heard.stdout), stderr: heard.stderr, late: heard.late, ms };
};

/** A run that nobody disturbs; if it fails, there is nothing to try. */
export const runWhole = async (subject: Subject, workspace: string, strace?: readonly string[]): Promise<Ended> => {
  const job = { does: 'run', workspace, by: 1 } as const;
  const ended = await runSubject(subject, strace === undefined ? job : { ...job, strace });
  if (ended.said?.outcome?.status === 'completed') return ended;
  throw new Error(`The reference run does not even work: ${ended.stderr || JSON.stringify(ended.said)}`);
};

/** What all processes told of a workspace, in order. */
export const readWitness = (workspace: string): readonly Line[] =>
  readFileSync(witnessPath(workspace), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);

const saidIn = (stdout: string): Said | null => {
  const [, line, end] = stdout.split('\n');
  return line === undefined || end === undefined ? null : (JSON.parse(line) as Said);
};

const plainEnv = (): Record<string, string> => ({ PATH: process.env['PATH'] ?? '', LANG: 'C.UTF-8' });

const killGroup = (pid: number | undefined): void => {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
};
