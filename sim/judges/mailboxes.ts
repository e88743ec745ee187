// What lies in a box is handed out once, to its own cell, each sender's in order; a box is bounded, and whoever waits is woken.
import type { RunId } from '#base';
import type { DeadLetter, Frame } from '#contracts';
import type { Mailing, RunHistory } from '../history.ts';
import type { Judge, Say } from './judge.ts';
import { hasMail, isLate, nameOf, walkMail } from './mail-walk.ts';
import type { Letter, Received, Resident, Step } from './mail-walk.ts';

const [lettersMax, bytesMax] = [100, 1_000_000];
/** What the runtime adds to a text, at most. */
const envelopeBytes = 1_000;
/** One message may have so many bytes. */
const mailMax = 260_000;
/** Times are whole milliseconds. */
const roundingMs = 2;

/** Why mail from outside may be refused. */
const excused = ['mail_unknown', 'mail_ambiguous', 'mail_invalid', 'mailbox_full', 'cell_ended'];

export const mailboxes: Judge = {
  name: 'mail is handed out once, in order',
  look: ({ runs, mailings }, say) => {
    let checks = mailings.length;
    for (const { code, said } of mailings)
      if (code !== null && !excused.includes(code))
        say('mail from outside to be taken, or to be refused', said || code);
    for (const run of runs) {
      if (!hasMail(run)) continue;
      const newest = new Map<string, number>();
      const refused = fullBoxes(run, mailings);
      walkMail(run, (step) => {
        checks += step.letters.length + (step.received === null ? 0 : 1);
        judgePut(run.run, step, say);
        if (step.received !== null) {
          judgeHanded(step, step.received, newest, say);
          judgeWoken(step, step.received, say);
          judgeLate(step, step.received, say);
        }
        judgeOverflow(step, say);
        judgeTold(step, say);
        for (const mailing of refused.get(step.frame.no) ?? []) {
          checks++;
          judgeFull(step, mailing, say);
        }
      });
    }
    return checks;
  },
};

const judgePut = (run: RunId, { frame, letters, living }: Step, say: Say): void => {
  for (const { to, kind, bytes, mail } of letters) {
    if (to === 'outside') continue;
    // What is too late to be read may have been taken out already: that is written down later.
    const box = living.get(to)?.box.filter((letter) => !isLate(letter, frame.at));
    if (box === undefined) say(`nothing to reach ${to} of run ${run} when it does not live`, `frame ${frame.no}`);
    else if (
      kind !== 'result' &&
      mail?.message_type !== 'answer' &&
      (box.length >= lettersMax || bytesIn(box) + bytes > bytesMax + envelopeBytes)
    )
      say(
        `at most ${lettersMax} letters and ${bytesMax} bytes in the box of ${to}`,
        `frame ${frame.no} brings one more to ${box.length} with ${bytesIn(box)} bytes`,
      );
  }
};

const bytesIn = (box: readonly Letter[]): number => box.reduce((sum, { bytes }) => sum + bytes, 0);

const judgeHanded = ({ frame }: Step, { seqs, letters }: Received, newest: Map<string, number>, say: Say): void => {
  if (letters.length < seqs.length || new Set(seqs).size < seqs.length)
    say(
      `frame ${frame.no} to hand out what lies in the box of ${frame.cell}`,
      `entries ${seqs.join(', ')}, of which ${letters.map(({ seq }) => seq).join(', ') || 'none'} lie there`,
    );
  for (const { from, seq, kind, mail } of letters) {
    // Who reads topics one by one may read a later message of another topic first.
    const key = `${frame.cell} ${from} ${kind === 'broadcast' ? `on ${mail?.topic}` : ''}`;
    const before = newest.get(key) ?? -1;
    if (seq < before) say(`what ${from} sent to be handed to ${frame.cell} in order`, `${seq} after ${before}`);
    newest.set(key, Math.max(before, seq));
  }
};

/** Nothing lies there for longer than it takes to notice, while somebody waits for it. */
const judgeWoken = ({ frame, living, resumedAt }: Step, { receive }: Received, say: Say): void => {
  const { name, args, frame: begin } = receive;
  if (args?.from !== undefined || args?.topics !== undefined) return;
  const late = living.get(frame.cell)?.box.find((letter) => {
    const { kind, frame: put } = letter;
    const isWanted = name === 'wait' || (kind === 'broadcast') === (name === 'tool:receive_broadcast');
    return isWanted && !isLate(letter, frame.at) && frame.at - Math.max(put.at, begin.at, resumedAt) > roundingMs;
  });
  if (late !== undefined)
    say(
      `${frame.cell}, which waits since frame ${begin.no}, to be handed what came in frame ${late.frame.no}`,
      `it waited on until frame ${frame.no}`,
    );
};

/** What was late when somebody began to wait is not handed out, and nothing else counts as late. */
const judgeLate = ({ frame, living }: Step, { receive, value, letters }: Received, say: Say): void => {
  const { frame: begin } = receive;
  for (const letter of letters)
    if (letter.frame.no < begin.no && isLate(letter, begin.at))
      say(
        `entry ${letter.seq} of ${frame.cell} to have expired before frame ${begin.no}`,
        `frame ${frame.no} hands it out`,
      );
  for (const seq of value?.expired ?? []) {
    const letter = living.get(frame.cell)?.box.find((one) => one.seq === seq);
    if (letter === undefined || !isLate(letter, frame.at))
      say(`entry ${seq} of ${frame.cell} to be read, or to have been`, `frame ${frame.no} says that it has expired`);
  }
};

const judgeOverflow = ({ frame, living }: Step, say: Say): void => {
  for (const { to, reason } of deadIn(frame))
    if (reason === 'overflow' && ![...living.values()].some((one) => nameOf(one.birth) === to && isFull(one, mailMax)))
      say(`the box of ${to} to be full when a message to it is turned away`, `frame ${frame.no} turns one away`);
};

const deadIn = ({ record }: Frame): readonly DeadLetter[] => {
  if (record.type === 'mail') return record.dead === undefined ? [] : [record.dead];
  if (record.type !== 'post') return [];
  return ((record.value ?? {}) as { readonly dead?: readonly DeadLetter[] }).dead ?? [];
};

/** Only ends are told in other words than those of mail, and only those of one's own. */
const judgeTold = ({ frame: { cell, no, record }, living }: Step, say: Say): void => {
  const { told = [] } = ((record.type === 'post' ? record.value : null) ?? {}) as { readonly told?: readonly number[] };
  for (const letter of living.get(cell)?.box ?? [])
    if (told.includes(letter.seq) && letter.kind !== 'result')
      say(`entry ${letter.seq} of ${cell} to be read as mail`, `frame ${no} takes it out of the box`);
};

const isFull = ({ box }: Resident, more: number): boolean => box.length >= lettersMax || bytesIn(box) + more > bytesMax;

/** What was turned away from outside, by the record that came before it, if the log still has that. */
const fullBoxes = ({ run, frames }: RunHistory, mailings: readonly Mailing[]): ReadonlyMap<number, Mailing[]> => {
  const kept = mailings.filter(
    ({ code, after, run: of }) =>
      code === 'mailbox_full' &&
      of === run &&
      after !== null &&
      JSON.stringify(frames[after.no]) === JSON.stringify(after),
  );
  return Map.groupBy(kept, ({ after }) => after!.no + 1);
};

const judgeFull = ({ frame, living }: Step, { to, bytes, said }: Mailing, say: Say): void => {
  const resident = to === null ? undefined : living.get(to);
  if (resident !== undefined && !isFull(resident, bytes + envelopeBytes))
    say(`the box of ${to} to be full before frame ${frame.no}`, `${resident.box.length} letters in it, and ${said}`);
};
