// What a long lane tells the process that started it, a line each. Told as it comes: if it dies, what was found is known.
import type { Found } from '../trial.ts';

export type LongLine =
  | { readonly tried: number; readonly of: string }
  | { readonly found: Found }
  /** Why it cannot be tried. */
  | { readonly notTried: string };

export const tell = (line: LongLine): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

export const longArguments = (): { readonly seed: number; readonly until: number } => {
  const [seed = 0, until = 0] = process.argv.slice(2).map(Number);
  return { seed, until };
};
