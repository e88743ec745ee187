// Files for people are written when no batch waits: nobody's acknowledgement stands behind them.

/** For so long at a stretch; then a batch that has come in goes first. */
const stretchMs = 2;
/** More than this is not put off any longer. */
const waitingMax = 20_000;

export type FileQueue<T> = {
  add(items: readonly T[]): void;
  /** Writes all that waits, now. */
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
  const stretch = (): void => {
    scheduled = false;
    writeUntil(performance.now() + stretchMs);
    schedule();
  };
  const schedule = (): void => {
    if (scheduled || queue.length === 0) return;
    scheduled = true;
    setImmediate(stretch);
  };
  const flush = (): void => writeUntil(Infinity);

  return {
    add(items) {
      for (const item of items) queue.push(item);
      if (queue.length - next > waitingMax) flush();
      schedule();
    },
    flush,
  };
};
