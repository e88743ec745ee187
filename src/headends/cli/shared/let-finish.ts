// Work that is either done or not: the first Ctrl-C waits for its end, the second one stops at once.
import { exitCode } from './errors.ts';
import type { ExitCode } from './errors.ts';
import type { CommandContext } from './define-command.ts';

/** `otherwise`: what becomes of it if it is stopped at once. */
export const letFinish = (
  { interrupts, output }: Pick<CommandContext, 'interrupts' | 'output'>,
  { what, otherwise }: { readonly what: string; readonly otherwise: string },
): { readonly end: () => ExitCode } => {
  interrupts.onFirst(() => output.err.print(`Finishing ${what}; Ctrl-C again stops at once: ${otherwise}.`));
  return { end: () => (interrupts.seen ? exitCode.cancelled : exitCode.completed) };
};
