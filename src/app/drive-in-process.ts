// Drives each run in a process of its own.
//
//   process-dies-alone. Whatever ends that process, its run is given to a worker again, and nobody else notices.
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { object, oneOf, orNull, problemsIn, string, whole } from '#base/shapes';
import type { DriveEnd, RunCall } from '#contracts';

/** `args`: of the command that drives one run. Its last line on stdout says how the drive ended. */
export const driveInProcess =
  ({ args, memoryMb }: { readonly args: readonly string[]; readonly memoryMb: number | null }, stop: AbortSignal) =>
  async ({ run, agent }: RunCall): Promise<DriveEnd> => {
    const limit = memoryMb === null ? [] : [`--max-old-space-size=${memoryMb}`];
    const script = process.argv[1]!;
    const command = [...process.execArgv, ...limit, script, ...args, '--run', run, '--run-agent', agent];
    const child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'inherit'] });
    const giveBack = (): void => void child.kill('SIGTERM');
    stop.addEventListener('abort', giveBack, { once: true });
    if (stop.aborted) giveBack();
    const ended = Promise.withResolvers<void>();
    child.on('error', () => ended.resolve());
    child.on('close', () => ended.resolve());
    const said = await text(child.stdout).catch(() => '');
    await ended.promise;
    stop.removeEventListener('abort', giveBack);
    return readEnd(said);
  };

const driveEndShape = object(
  { end: oneOf('ended', 'rests', 'lost', 'refused') },
  { until: orNull(whole()), code: string(), detail: string() },
);

const readEnd = (said: string): DriveEnd => {
  try {
    const end: unknown = JSON.parse(said.trim().split('\n').at(-1) ?? '');
    return problemsIn(driveEndShape, end).length === 0 ? (end as DriveEnd) : { end: 'lost' };
  } catch {
    return { end: 'lost' };
  }
};
