// Mail is received once, by its own cell, in order for each sender. What a sender may have unread is bounded, and a waiting cell
// is woken.
import type { RunId } from '#base';
import type { CrossingEnd, DeadLetter, Frame } from '#contracts';
import type { OutsideMail, RunHistory } from '../history.ts';
import type { Judge, ReportProblem } from './judge.ts';
import { hasMail, isExpired, mailName, walkMail } from './mail-walk.ts';
import type { Delivery, Received, MailCell, MailStep } from './mail-walk.ts';

const [messagesMax, bytesMax] = [100, 1_000_000];
/** The most that the runtime adds to a text. */
const envelopeBytes = 1_000;
/** The largest message, in bytes. */
const mailMax = 260_000;
/** Times are rounded to milliseconds. */
const roundingMs = 2;

/** Why mail from outside may be refused. */
const excused = ['mail_unknown', 'mail_ambiguous', 'mail_invalid', 'mailbox_full', 'cell_ended'];

// invariants: mailbox-hands-out-once, mailbox-holds-what-is-logged
export const mailboxes: Judge = {
  name: 'messages are received once, in order',
  check: ({ runs, outsideMail }, report) => {
    let checks = outsideMail.length;
    for (const { code, result } of outsideMail)
      if (code !== null && !excused.includes(code))
        report('mail from outside to be accepted, or refused for a known reason', result || code);
    for (const run of runs) {
      if (!hasMail(run)) continue;
      const newest = new Map<string, number>();
      const refused = refusedAsFull(run, outsideMail);
      walkMail(run, (step) => {
        checks += step.deliveries.length + (step.received === null ? 0 : 1);
        judgeDelivered(run.run, step, report);
        if (step.received !== null) {
          judgeReceived(step, step.received, newest, report);
          judgeWoken(step, step.received, report);
          judgeExpired(step, step.received, report);
        }
        judgeOverflow(step, report);
        judgeAcknowledgedEnds(step, report);
        for (const mailing of refused.get(step.frame.no) ?? []) {
          checks++;
          judgeFull(step, mailing, report);
        }
      });
    }
    return checks;
  },
};

const judgeDelivered = (run: RunId, { frame, deliveries, live }: MailStep, report: ReportProblem): void => {
  for (const { to, from, kind, bytes, mail } of deliveries) {
    if (to === 'outside') continue;
    // Expired mail may have been removed already; that is recorded later.
    const box = live.get(to)?.mailbox.filter((delivery) => !isExpired(delivery, frame.at) && delivery.from === from);
    if (box === undefined) report(`nothing to reach ${to} of run ${run}, which is not live`, `frame ${frame.no}`);
    else if (
      kind !== 'result' &&
      mail?.message_type !== 'answer' &&
      (box.length >= messagesMax || mailboxBytes(box) + bytes > bytesMax + envelopeBytes)
    )
      report(
        `at most ${messagesMax} messages and ${bytesMax} bytes of ${from} in the mailbox of ${to}`,
        `frame ${frame.no} adds one more to ${box.length} with ${mailboxBytes(box)} bytes`,
      );
  }
};

const mailboxBytes = (box: readonly Delivery[]): number => box.reduce((sum, { bytes }) => sum + bytes, 0);

const judgeReceived = (
  { frame }: MailStep,
  { seqs, deliveries }: Received,
  newest: Map<string, number>,
  report: ReportProblem,
): void => {
  if (deliveries.length < seqs.length || new Set(seqs).size < seqs.length)
    report(
      `frame ${frame.no} to receive what is in the mailbox of ${frame.cell}`,
      `entries ${seqs.join(', ')}, of which ${deliveries.map(({ seq }) => seq).join(', ') || 'none'} are there`,
    );
  for (const { from, seq, kind, mail } of deliveries) {
    // A cell that reads by topic may read a later message of another topic first.
    const key = `${frame.cell} ${from} ${kind === 'broadcast' ? `on ${mail?.topic}` : ''}`;
    const before = newest.get(key) ?? -1;
    if (seq < before) report(`what ${from} sent to reach ${frame.cell} in order`, `${seq} after ${before}`);
    newest.set(key, Math.max(before, seq));
  }
};

/** While a cell waits, matching mail does not stay in its mailbox. */
const judgeWoken = ({ frame, live, resumedAt }: MailStep, { receive }: Received, report: ReportProblem): void => {
  const { name, args, frame: begin } = receive;
  // A session that has answered reads no more mail: it waits for others to finish.
  if (name === 'wait:spawned' || args?.from !== undefined || args?.topics !== undefined) return;
  const late = live.get(frame.cell)?.mailbox.find((delivery) => {
    const { kind, frame: put } = delivery;
    const isWanted = name === 'wait' || (kind === 'broadcast') === (name === 'tool:receive_broadcast');
    return isWanted && !isExpired(delivery, frame.at) && frame.at - Math.max(put.at, begin.at, resumedAt) > roundingMs;
  });
  if (late !== undefined)
    report(
      `${frame.cell}, waiting since frame ${begin.no}, to receive what came in frame ${late.frame.no}`,
      `it kept waiting until frame ${frame.no}`,
    );
};

/** Mail that had expired when a wait began is not received, and nothing else counts as expired. */
const judgeExpired = (
  { frame, live }: MailStep,
  { receive, value, deliveries }: Received,
  report: ReportProblem,
): void => {
  const { frame: begin } = receive;
  for (const delivery of deliveries)
    if (delivery.frame.no < begin.no && isExpired(delivery, begin.at))
      report(
        `entry ${delivery.seq} of ${frame.cell} to have expired before frame ${begin.no}`,
        `frame ${frame.no} receives it`,
      );
  for (const seq of value?.expired ?? []) {
    const delivery = live.get(frame.cell)?.mailbox.find((one) => one.seq === seq);
    if (delivery === undefined || !isExpired(delivery, frame.at))
      report(`entry ${seq} of ${frame.cell} not to be expired`, `frame ${frame.no} says that it has expired`);
  }
};

const judgeOverflow = ({ frame, live }: MailStep, report: ReportProblem): void => {
  const from = frame.record.type === 'mail' ? 'outside' : frame.cell;
  const isFullAt = (one: MailCell, to: string): boolean => mailName(one.birth) === to && isFull(one, from, mailMax);
  for (const { to, reason } of deadLettersIn(frame))
    if (reason === 'overflow' && ![...live.values()].some((one) => isFullAt(one, to)))
      report(`the mailbox of ${to} to be full of ${from} when a message is rejected`, `frame ${frame.no} rejects one`);
};

const deadLettersIn = ({ record }: Frame): readonly DeadLetter[] => {
  if (record.type === 'mail') return record.dead === undefined ? [] : [record.dead];
  if (record.type !== 'post') return [];
  return ((record.value ?? {}) as { readonly dead?: readonly DeadLetter[] }).dead ?? [];
};

/** Only results of a cell's own children may leave its mailbox without being read as mail. */
const judgeAcknowledgedEnds = ({ frame: { cell, no, record }, live }: MailStep, report: ReportProblem): void => {
  const { told = [] } = ((record.type === 'post' ? record.value : null) ?? {}) as { readonly told?: readonly number[] };
  for (const delivery of live.get(cell)?.mailbox ?? [])
    if (told.includes(delivery.seq) && delivery.kind !== 'result')
      report(`entry ${delivery.seq} of ${cell} to be read as mail`, `frame ${no} removes it from the mailbox`);
};

const isFull = ({ mailbox }: MailCell, sender: CrossingEnd, more: number): boolean => {
  const unread = mailbox.filter(({ from }) => from === sender);
  return unread.length >= messagesMax || mailboxBytes(unread) + more > bytesMax;
};

/** Mail from outside that was rejected because a mailbox was full, by the frame after the last one before it. */
const refusedAsFull = (
  { run, frames }: RunHistory,
  mailings: readonly OutsideMail[],
): ReadonlyMap<number, OutsideMail[]> => {
  const kept = mailings.filter(
    ({ code, after, run: of }) =>
      code === 'mailbox_full' &&
      of === run &&
      after !== null &&
      JSON.stringify(frames[after.no]) === JSON.stringify(after),
  );
  return Map.groupBy(kept, ({ after }) => after!.no + 1);
};

const judgeFull = ({ frame, live }: MailStep, { to, bytes, result }: OutsideMail, report: ReportProblem): void => {
  const resident = to === null ? undefined : live.get(to);
  if (resident !== undefined && !isFull(resident, 'outside', bytes + envelopeBytes))
    report(
      `the mailbox of ${to} to be full before frame ${frame.no}`,
      `${resident.mailbox.length} messages in it, and ${result}`,
    );
};
