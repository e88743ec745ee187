// Lines that a long lane prints for the process that started it. Each is printed immediately, so that findings survive a crash.
import type { Finding } from '../trial.ts';

export type LongLine =
  | { readonly tried: number; readonly of: string }
  /** Printed before something is tried: the command that repeats it, in case the lane dies of it. */
  | { readonly trying: string }
  | { readonly finding: Finding }
  /** Why the lane cannot run. */
  | { readonly skipped: string };

export const printLine = (line: LongLine): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

export const parseLaneArguments = (): { readonly seed: number; readonly until: number } => {
  const [seed = 0, until = 0] = process.argv.slice(2).map(Number);
  return { seed, until };
};
