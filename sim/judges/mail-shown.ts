// A message is shown to its reader once, after it was handed out; and what was handed out is shown.
import type { Frame } from '#contracts';
import type { Judge } from './judge.ts';
import { hasMail, walkMail } from './mail-walk.ts';

export const mailShown: Judge = {
  name: 'mail is shown once',
  look: ({ runs }, say) => {
    let checks = 0;
    for (const run of runs) {
      if (!hasMail(run)) continue;
      const handed = new Map<string, Frame>();
      const shown = new Set<string>();
      walkMail(run, ({ frame, received }) => {
        const { cell, no } = frame;
        for (const seq of shownBy(frame)) {
          checks++;
          const key = `${cell}/${seq}`;
          if (shown.has(key)) say(`entry ${seq} to be shown to ${cell} once`, `frame ${no} shows it again`);
          else if (!handed.has(key)) say(`entry ${seq} to be shown to ${cell} once it has it`, `frame ${no} shows it`);
          handed.delete(key);
          shown.add(key);
        }
        if (frame.attempt !== undefined)
          for (const [key, settled] of handed)
            if (key.startsWith(`${cell}/`)) {
              say(`${key}, handed out in frame ${settled.no}, to be shown next`, `frame ${no} does not show it`);
              handed.delete(key);
            }
        for (const seq of received?.seqs ?? []) handed.set(`${cell}/${seq}`, frame);
      });
    }
    return checks;
  },
};

/** Entries of its ledger that a request shows as mail. */
const shownBy = ({ attempt }: Frame): readonly number[] =>
  attempt?.changes
    .flatMap((change) => ('add' in change ? change.add : []))
    .filter(({ origin }) => origin.rule === 'mail@1' || origin.rule === 'received@1')
    .flatMap(({ origin }) => origin.of.flatMap((source) => (source.from === 'crossing' ? [source.seq] : []))) ?? [];
