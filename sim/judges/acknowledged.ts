// Everything that was acknowledged as durable is stored unchanged, at that moment and at the end.
import type { RunHistory } from '../history.ts';
import type { Judge } from './judge.ts';

export const acknowledged: Judge = {
  name: 'acknowledged ⇒ present',
  check: ({ writings, runs, blobs, workspaceLog: { entries } }, report) => {
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
    // One that only deleted runs have named may be gone. That of a run which died before it named it goes with them.
    const deleted = runs.filter(({ isDeleted }) => isDeleted);
    const purged = new Set(
      entries.flatMap(({ record }) => (record.type === 'purge' ? [JSON.stringify(record.conversation)] : [])),
    );
    const isOfPurged = (ref: string): boolean =>
      entries.some(
        ({ record }) =>
          record.type === 'branch' &&
          purged.has(JSON.stringify(record.conversation)) &&
          JSON.stringify(record).includes(ref),
      );
    const mayBeGone = (ref: string): boolean =>
      (deleted.some((one) => names(one, ref)) || isOfPurged(ref)) &&
      !runs.some((one) => !one.isDeleted && names(one, ref));
    for (const { ref, there } of blobs) {
      checks++;
      if (!there && !mayBeGone(ref)) report(`blob ${ref}`, 'it is missing');
    }
    return checks;
  },
};

const names = ({ bodies }: RunHistory, ref: string): boolean => bodies.some((body) => body.includes(ref));
