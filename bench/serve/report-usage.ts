import type { Ask, Usage } from './messages.ts';

/** Tells the benchmark what this process has used, whenever it asks. */
export const reportUsage = (backedUp: () => number = () => 0): void => {
  process.on('message', ({ collect }: Ask) => {
    if (collect) gc?.();
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed: heap } = process.memoryUsage();
    const usage = { cpuMs: (user + system) / 1_000, rss, heap, backedUp: backedUp() };
    process.send?.({ usage } satisfies Usage);
  });
  process.on('disconnect', () => process.exit(0));
};
