// Ctrl-C: once stops in order, twice at once.
import type { CliWorld } from './cli-world.ts';

export type Interrupts = {
  readonly seen: boolean;
  /** Resolves when nothing more should be waited for. */
  readonly atOnce: Promise<void>;
  /** What the first interrupt does. Without it, the first one already means at once. */
  orderly(stop: () => void): void;
  /** Called when the command is left at once: gives the terminal back. */
  onLeave(restore: () => void): void;
  leave(): void;
  close(): void;
};

/** npm passes on a Ctrl-C that the terminal has already sent to the whole group: one key, two signals. */
const sameKeyMs = 100;

export const watchInterrupts = (world: CliWorld): Interrupts => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const restores: (() => void)[] = [];
  let stop: (() => void) | undefined;
  let lastAt: number | undefined;
  const close = world.onInterrupt(() => {
    const at = world.now();
    const first = lastAt === undefined;
    if (lastAt !== undefined && Math.abs(at - lastAt) < sameKeyMs) return;
    lastAt = at;
    if (first && stop !== undefined) stop();
    else resolve();
  });
  return {
    get seen() {
      return lastAt !== undefined;
    },
    atOnce: promise,
    orderly: (given) => {
      stop = given;
    },
    onLeave: (restore) => void restores.push(restore),
    leave: () => {
      for (const restore of restores) restore();
    },
    close,
  };
};
