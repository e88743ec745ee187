import type { Cloister } from '#contracts';
import type { CommandContext } from './command-context.ts';

/** The workspace alone: what was recorded can be looked at without any agent. */
export const openToRead = (workspace: string, { world }: CommandContext): Promise<Cloister> =>
  world.open({ workspace, agents: [], demo: false });
