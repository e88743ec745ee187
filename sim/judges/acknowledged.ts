// Everything that was acknowledged as durable is stored unchanged, at that moment and at the end.
import type { Judge } from './judge.ts';

export const acknowledged: Judge = {
  name: 'acknowledged ⇒ present',
  check: ({ writings, runs, blobs }, report) => {
    let checks = 0;
    for (const { process, run, frames, acknowledged: count, early } of writings) {
      if (early > 0)
        report(
          'frames on the disk before they are acknowledged',
          `${early} of run ${run} by process ${process} were not`,
        );
      const bodies = runs.find((one) => one.run === run)?.bodies ?? [];
      for (const frame of frames.slice(0, count)) {
        checks++;
        const kept = bodies[frame.no];
        if (kept === JSON.stringify(frame)) continue;
        report(
          `frame ${frame.no} of run ${run} as written by process ${process} (${frame.record.type})`,
          kept === undefined ? 'it is missing' : `another frame is stored: ${kept.slice(0, 200)}`,
        );
      }
    }
    for (const { ref, there } of blobs) {
      checks++;
      if (!there) report(`blob ${ref}`, 'it is missing');
    }
    return checks;
  },
};
