import type { Cloister } from '#contracts';
import type { CommandContext } from './command-context.ts';

/** Opens the workspace without agents: reading records needs none. */
export const openToRead = (workspace: string, { world }: CommandContext): Promise<Cloister> =>
  world.open({ workspace, agents: [], demo: false });
