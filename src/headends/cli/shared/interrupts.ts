// Ctrl-C: the first one stops cleanly, the second one immediately.
import type { CliSystem } from './cli-world.ts';

export type Interrupts = {
  readonly seen: boolean;
  /** Resolves when the command must end without waiting for anything. */
  readonly immediateStop: Promise<void>;
  /** Sets what the first interrupt does. Without it, the first interrupt already stops immediately. */
  onFirst(stop: () => void): void;
  /** The interrupt has been handled: the next one counts as a first one again. */
  reset(): void;
  /** Adds a function that restores the terminal when the command ends immediately. The returned function removes it. */
  onLeave(restore: () => void): () => void;
  leave(): void;
  close(): void;
};

/** npm forwards a Ctrl-C that the terminal has already sent to the whole process group: one key press, two signals. */
const sameKeyMs = 100;

export const watchInterrupts = ({ onInterrupt, timer }: Pick<CliSystem, 'onInterrupt' | 'timer'>): Interrupts => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const restores = new Set<() => void>();
  let stop: (() => void) | undefined;
  let isSameKey = false;
  let stopTimer = (): void => undefined;
  let seen = false;
  const stopListening = onInterrupt(() => {
    if (isSameKey) return;
    isSameKey = true;
    // Two timers, because the event loop reads signals between them: one that came while a busy machine did not let this
    // process run still belongs to the same key press.
    stopTimer = timer(sameKeyMs, () => {
      stopTimer = timer(0, () => void (isSameKey = false));
    });
    const first = !seen;
    seen = true;
    if (first && stop !== undefined) stop();
    else resolve();
  });
  return {
    get seen() {
      return seen;
    },
    immediateStop: promise,
    onFirst: (given) => {
      stop = given;
    },
    reset: () => {
      seen = false;
    },
    onLeave: (restore) => {
      restores.add(restore);
      return () => void restores.delete(restore);
    },
    leave: () => {
      for (const restore of restores) restore();
    },
    close: () => {
      stopTimer();
      stopListening();
    },
  };
};
