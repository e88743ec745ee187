// The longest time for which some work kept the event loop to itself, in CPU milliseconds of this thread.

/** Looks at the CPU time on every turn of the loop: what passed between two looks ran in one piece. */
export const longestPieceMs = async (work: () => Promise<void>): Promise<number> => {
  let longest = 0;
  let running = true;
  let last = process.threadCpuUsage();
  const look = (): void => {
    const { user, system } = process.threadCpuUsage(last);
    longest = Math.max(longest, (user + system) / 1_000);
    last = process.threadCpuUsage();
    if (running) setImmediate(look);
  };
  await new Promise<void>((resolve) => setImmediate(resolve));
  last = process.threadCpuUsage();
  setImmediate(look);
  try {
    await work();
  } finally {
    running = false;
  }
  await new Promise<void>((resolve) => setImmediate(resolve));
  return longest;
};
