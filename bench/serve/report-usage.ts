import type { Ask, Usage } from './messages.ts';

/** Tells the benchmark what this process has used, whenever it asks. */
export const reportUsage = (): void => {
  process.on('message', ({ collect }: Ask) => {
    if (collect) gc?.();
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed: heap } = process.memoryUsage();
    process.send?.({ usage: { cpuMs: (user + system) / 1_000, rss, heap } } satisfies Usage);
  });
  process.on('disconnect', () => process.exit(0));
};
