import type { CliWorld } from './cli-world.ts';
import type { Interrupts } from './interrupts.ts';
import type { Output } from './output.ts';

/** What every command gets. */
export type CommandContext = { readonly world: CliWorld; readonly output: Output; readonly interrupts: Interrupts };
