import type { UsageRequest, Usage } from './messages.ts';

/** Reports this process's resource usage whenever the benchmark asks for it. */
export const reportUsage = (backedUp: () => number = () => 0): void => {
  process.on('message', ({ collect }: UsageRequest) => {
    if (collect) gc?.();
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed: heap } = process.memoryUsage();
    const usage = { cpuMs: (user + system) / 1_000, rss, heap, backedUp: backedUp() };
    process.send?.({ usage } satisfies Usage);
  });
  process.on('disconnect', () => process.exit(0));
};
