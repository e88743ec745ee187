// Callers who wait until what they asked for is on disk.
import type { RunSession } from '#contracts';
import type { Process } from './process.ts';

export type SessionInProcess = { readonly process: Process; readonly session: RunSession };

/** As a server that answers before the run has ended. */
export const awaitReceipt = async ({ process, session }: SessionInProcess, told: () => void): Promise<void> => {
  try {
    await session.durable();
    if (process.alive) told();
  } catch {
    // Whoever asked is told that it could not be recorded.
  }
};
