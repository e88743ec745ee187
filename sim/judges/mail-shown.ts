// A message is shown to its recipient once, after it was received; and every received message is shown.
import type { Frame } from '#contracts';
import type { Judge } from './judge.ts';
import { hasMail, walkMail } from './mail-walk.ts';

export const mailShown: Judge = {
  name: 'each message is shown once',
  check: ({ runs }, report) => {
    let checks = 0;
    for (const run of runs) {
      if (!hasMail(run)) continue;
      const unshown = new Map<string, Frame>();
      const shown = new Set<string>();
      walkMail(run, ({ frame, received }) => {
        const { cell, no } = frame;
        for (const seq of shownSeqs(frame)) {
          checks++;
          const key = `${cell}/${seq}`;
          if (shown.has(key)) report(`entry ${seq} to be shown to ${cell} once`, `frame ${no} shows it again`);
          else if (!unshown.has(key))
            report(`entry ${seq} to be shown to ${cell} only after it was received`, `frame ${no} shows it`);
          unshown.delete(key);
          shown.add(key);
        }
        if (frame.attempt !== undefined)
          for (const [key, settled] of unshown)
            if (key.startsWith(`${cell}/`)) {
              report(
                `${key}, received in frame ${settled.no}, to be shown in the next request`,
                `frame ${no} does not show it`,
              );
              unshown.delete(key);
            }
        for (const seq of received?.seqs ?? []) unshown.set(`${cell}/${seq}`, frame);
      });
    }
    return checks;
  },
};

/** The ledger entries that a request shows as mail. */
const shownSeqs = ({ attempt }: Frame): readonly number[] =>
  attempt?.changes
    .flatMap((change) => ('add' in change ? change.add : []))
    .filter(({ origin }) => origin.rule === 'mail@1' || origin.rule === 'received@1')
    .flatMap(({ origin }) => origin.of.flatMap((source) => (source.from === 'crossing' ? [source.seq] : []))) ?? [];
