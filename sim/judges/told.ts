// Whatever a client was told is there after any crash: it stands outside, and knows only the events that it was sent, the receipts that it
// got and the answers that it was shown.
import { decodeMail } from '#contracts';
import { projectEvents } from '#core/events';
import type { History } from '../history.ts';
import type { Judge, ReportProblem } from './judge.ts';

// invariants: told-after-commit, receipt-after-commit
export const told: Judge = {
  name: 'told = kept',
  check: (history, report) =>
    judgeEvents(history, report) + judgeReceipts(history, report) + judgeOutcomes(history, report),
};

const framesOf = ({ runs }: History, run: string) => runs.find((one) => one.run === run)?.frames ?? [];

const judgeEvents = (history: History, report: ReportProblem): number => {
  let checks = 0;
  for (const { events: sent, process, run } of history.sessions) {
    if (sent === null || sent.length === 0) continue;
    const fold = projectEvents('contents');
    const kept = framesOf(history, run).flatMap((frame) => fold.next(frame));
    checks += sent.length;
    const lost = sent.findIndex((event, index) => JSON.stringify(event) !== JSON.stringify(kept[index]));
    if (lost >= 0)
      report(
        `event ${sent[lost]!.id} of run ${run}, which process ${process} sent, to be in the log`,
        kept[lost] === undefined ? `the log ends after ${kept.length} events` : `event ${kept[lost].id} is there`,
      );
  }
  return checks;
};

/** Of runs and of messages. */
const judgeReceipts = (history: History, report: ReportProblem): number => {
  const runs = history.sessions.filter(({ hasReceipt }) => hasReceipt);
  for (const { run, process } of runs)
    if (framesOf(history, run).length === 0)
      report(`run ${run}, for which process ${process} gave a receipt`, 'it does not exist');
  // Of a run that was cancelled before it had begun, no agent is left to receive anything.
  const isCancelled = (run: string): boolean => framesOf(history, run).some(({ record }) => record.type === 'cancel');
  const sent = history.outsideMail.filter(({ run, hasReceipt }) => hasReceipt && !isCancelled(run));
  for (const { run, process, result: id } of sent)
    if (!framesOf(history, run).some(({ record, contents = [] }) => isMessage(id, { record, contents })))
      report(`message ${id} of run ${run}, for which process ${process} gave a receipt`, 'it is not in the log');
  return runs.length + sent.length;
};

type MailFrame = Pick<History['runs'][number]['frames'][number], 'record' | 'contents'>;

/** In a mailbox, or noted as one that had no recipient. */
const isMessage = (id: string, { record, contents = [] }: MailFrame): boolean =>
  record.type === 'mail' &&
  (record.dead?.id === id ||
    contents.some(
      ({ kind, from, content }) => kind === 'message' && from === 'outside' && decodeMail(content).id === id,
    ));

/** An answer that was shown as the end stays the end. */
const judgeOutcomes = (history: History, report: ReportProblem): number => {
  const ended = history.sessions.filter(({ outcome }) => outcome !== null);
  for (const { run, process, outcome } of ended) {
    const last = framesOf(history, run).at(-1)?.record;
    if (last?.type !== 'close' || last.outcome.output !== outcome!.output)
      report(
        `the answer of run ${run}, which process ${process} showed as its end`,
        last?.type ?? 'the run is not there',
      );
  }
  return ended.length;
};
