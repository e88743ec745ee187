// A run has one owner at a time, and only its owner writes to its log.
import type { Judge } from './judge.ts';

export const owners: Judge = {
  name: 'one owner per run',
  check: ({ writings, processes }, report) => {
    let checks = 0;
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
