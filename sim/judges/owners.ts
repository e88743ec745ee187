// A run has one owner at a time, and only its owner writes to its log.
import type { Judge } from './judge.ts';

export const owners: Judge = {
  name: 'one owner per run',
  check: ({ writings, processes, hasLeases }, report) => {
    let checks = 0;
    // There, a process may have lost a run and not know it yet. Another judge knows the disk.
    if (hasLeases) return checks;
    for (const [index, one] of writings.entries())
      for (const other of writings.slice(index + 1)) {
        if (one.run !== other.run) continue;
        checks++;
        const until = one.releasedAt ?? processes.find(({ process }) => process === one.process)?.diedAt ?? Infinity;
        if (other.ownedAt < until)
          report(
            `process ${one.process} alone to own run ${one.run} until ${until} ms`,
            `process ${other.process} owned it at ${other.ownedAt} ms`,
          );
      }
    return checks;
  },
};
