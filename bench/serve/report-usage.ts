import type { UsageRequest, Usage } from './messages.ts';

/** Reports this process's resource usage whenever the benchmark asks for it. */
export const reportUsage = (counts: () => { readonly backedUp: number; readonly ended: number } = noCounts): void => {
  process.on('message', ({ collect }: UsageRequest) => {
    if (collect) gc?.();
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed: heap, external } = process.memoryUsage();
    const usage = { cpuMs: (user + system) / 1_000, rss, heap, memory: heap + external, ...counts() };
    process.send?.({ usage } satisfies Usage);
  });
  process.on('disconnect', () => process.exit(0));
};

const noCounts = () => ({ backedUp: 0, ended: 0 });
