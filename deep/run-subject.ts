// Starts the subject in its own process, directly or under strace, and collects how it ended.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Subject } from './build-subject.ts';
import type { SubjectReport } from './subject/main.ts';
import { witnessPath } from './subject/witness.ts';
import type { WitnessLine } from './subject/witness.ts';

export type SubjectExit = {
  /** Null when a signal ended it. */
  readonly code: number | null;
  /** Its final report, if it got that far. */
  readonly report: SubjectReport | null;
  readonly stderr: string;
  readonly timedOut: boolean;
  /** Measured from `ready`. */
  readonly ms: number;
};

export type Job = {
  readonly command: 'run' | 'go' | 'resume' | 'rival';
  readonly workspace: string;
  readonly processNo: number;
  /** It kills itself after this many witness lines, or after this effect. */
  readonly dieAfter?: number | string;
  /** It is killed this long after it was ready. */
  readonly killAfterMs?: number;
  /** Arguments for strace, to run it under strace. */
  readonly strace?: readonly string[];
};

/** A run takes a fraction of a second; a process that takes this long hangs. */
const timeoutMs = 60_000;

const running = new Set<() => void>();
process.on('exit', () => {
  for (const kill of running) kill();
});

export const runSubject = async ({ script }: Subject, job: Job): Promise<SubjectExit> => {
  const { command, workspace, processNo, dieAfter = '', killAfterMs, strace } = job;
  const node = [process.execPath, script, command, workspace, String(processNo), String(dieAfter)];
  const [program = '', ...args] = strace === undefined ? node : ['strace', ...strace, ...node];
  // Its own process group, so that strace and its child can be killed together.
  const child = spawn(program, args, { detached: true, env: plainEnv(), stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = (): void => killGroup(child.pid);
  running.add(kill);
  const collected = { stdout: '', stderr: '', readyAt: performance.now(), timedOut: false };
  const timers = [setTimeout(() => ((collected.timedOut = true), kill()), timeoutMs)];
  child.stderr.setEncoding('utf8').on('data', (text: string) => (collected.stderr += text));
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (collected.stdout === '') {
      collected.readyAt = performance.now();
      if (killAfterMs !== undefined) timers.push(setTimeout(kill, killAfterMs));
    }
    collected.stdout += text;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  for (const timer of timers) clearTimeout(timer);
  running.delete(kill);
  const ms = performance.now() - collected.readyAt;
  return { code, report: parseReport(collected.stdout), stderr: collected.stderr, timedOut: collected.timedOut, ms };
};

/** A run without faults. Throws if it fails, because then there is nothing to test. */
export const runUndisturbed = async (
  subject: Subject,
  workspace: string,
  strace?: readonly string[],
): Promise<SubjectExit> => {
  const job = { command: 'run', workspace, processNo: 1 } as const;
  const ended = await runSubject(subject, strace === undefined ? job : { ...job, strace });
  if (ended.report?.outcome?.status === 'completed') return ended;
  throw new Error(`The reference run fails without any fault: ${ended.stderr || JSON.stringify(ended.report)}`);
};

/** The witness lines of all processes of a workspace, in order. */
export const readWitness = (workspace: string): readonly WitnessLine[] =>
  readFileSync(witnessPath(workspace), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as WitnessLine);

const parseReport = (stdout: string): SubjectReport | null => {
  const [, line, end] = stdout.split('\n');
  return line === undefined || end === undefined ? null : (JSON.parse(line) as SubjectReport);
};

const plainEnv = (): Record<string, string> => ({ PATH: process.env['PATH'] ?? '', LANG: 'C.UTF-8' });

const killGroup = (pid: number | undefined): void => {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has already ended.
  }
};
