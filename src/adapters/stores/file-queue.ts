// Writes step files when no batch waits, so that no acknowledgement is delayed by them.

/** Longest time slice; after it, a waiting batch goes first. */
const sliceMs = 2;
/** Past this many queued items, all are written immediately. */
const queuedMax = 20_000;

type FileQueue<T> = {
  add(items: readonly T[]): void;
  /** Writes everything that is queued, now. */
  flush(): void;
};

export const openFileQueue = <T>(write: (item: T) => void): FileQueue<T> => {
  let queue: T[] = [];
  let next = 0;
  let scheduled = false;

  const writeUntil = (deadline: number): void => {
    while (next < queue.length && performance.now() < deadline) write(queue[next++]!);
    if (next < queue.length) return;
    queue = [];
    next = 0;
  };
  const writeSlice = (): void => {
    scheduled = false;
    writeUntil(performance.now() + sliceMs);
    schedule();
  };
  const schedule = (): void => {
    if (scheduled || queue.length === 0) return;
    scheduled = true;
    setImmediate(writeSlice);
  };
  const flush = (): void => writeUntil(Infinity);

  return {
    add(items) {
      for (const item of items) queue.push(item);
      if (queue.length - next > queuedMax) flush();
      schedule();
    },
    flush,
  };
};
