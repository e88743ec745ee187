// Ctrl-C: once stops in order, twice at once.
import type { CliWorld } from './cli-world.ts';

export type Interrupts = {
  readonly seen: boolean;
  /** Resolves when nothing more should be waited for. */
  readonly atOnce: Promise<void>;
  /** What the first interrupt does. Without it, the first one already means at once. */
  orderly(stop: () => void): void;
  /** What was seen has been dealt with: the next one is a first one again. */
  again(): void;
  /** Called when the command is left at once: gives the terminal back. The returned function takes it off. */
  onLeave(restore: () => void): () => void;
  leave(): void;
  close(): void;
};

/** npm passes on a Ctrl-C that the terminal has already sent to the whole group: one key, two signals. */
const sameKeyMs = 100;

export const watchInterrupts = (world: CliWorld): Interrupts => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const restores = new Set<() => void>();
  let stop: (() => void) | undefined;
  let lastAt: number | undefined;
  let seen = false;
  const close = world.onInterrupt(() => {
    const at = world.now();
    if (lastAt !== undefined && Math.abs(at - lastAt) < sameKeyMs) return;
    lastAt = at;
    const first = !seen;
    seen = true;
    if (first && stop !== undefined) stop();
    else resolve();
  });
  return {
    get seen() {
      return seen;
    },
    atOnce: promise,
    orderly: (given) => {
      stop = given;
    },
    again: () => {
      seen = false;
    },
    onLeave: (restore) => {
      restores.add(restore);
      return () => void restores.delete(restore);
    },
    leave: () => {
      for (const restore of restores) restore();
    },
    close,
  };
};
