// What was said to be durable is there, then and at the end, as it was handed over.
import type { Judge } from './judge.ts';

export const acknowledged: Judge = {
  name: 'acknowledged ⇒ present',
  look: ({ writings, runs, blobs }, say) => {
    let checks = 0;
    for (const { process, run, frames, acknowledged: count, early } of writings) {
      if (early > 0)
        say('frames on the disk before they are acknowledged', `${early} of run ${run} by process ${process} were not`);
      const bodies = runs.find((one) => one.run === run)?.bodies ?? [];
      for (const frame of frames.slice(0, count)) {
        checks++;
        const kept = bodies[frame.no];
        if (kept === JSON.stringify(frame)) continue;
        say(
          `frame ${frame.no} of run ${run} as process ${process} wrote it (${frame.record.type})`,
          kept === undefined ? 'it is not there' : `another one is there: ${kept.slice(0, 200)}`,
        );
      }
    }
    for (const { ref, there } of blobs) {
      checks++;
      if (!there) say(`blob ${ref}`, 'it is not there');
    }
    return checks;
  },
};
