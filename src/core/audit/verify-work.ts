// Checks that each piece of work of a resident was for one asker, and that only that asker got the answer. Runs after the frame
// is read.
//
//   audit-derives-askers. Who asked is derived here from the messages that were received, not taken from what the log says
//       about an answer.
import type { CellId } from '#base';
import { decodeMail } from '#contracts';
import type { CrossingEnd, Frame, Mail, ModelReply, ReceiveResult } from '#contracts';
import { problemLocation } from './problems.ts';
import type { AuditProblems, Check } from './problems.ts';
import { answersInJson, checkedJson, holdsText, isAnswerCheck, isLastAnswer, replyText } from './records.ts';
import type { CellRecords, OperationRecord, RunRecords } from './records.ts';

type Asker = { readonly from: CrossingEnd; readonly id: string | null };

/** The current work of a resident. */
type Work = {
  readonly caller: CrossingEnd;
  asker: Asker | null;
  isAnswered: boolean;
  /** Whom it wrote to while working. */
  readonly written: Set<CrossingEnd>;
  /** A person's messages that it read while it worked for another. */
  deferred: readonly { readonly seq: number; readonly id: string }[];
  /** The chains of all messages that it has received. */
  readonly chains: Set<string>;
  /** Its latest texts for the caller that started it. Two, because the newest one may have exceeded its budget. */
  texts: readonly string[];
};

type CheckContext = {
  readonly frame: Frame;
  readonly cell: CellRecords;
  readonly work: Work;
  readonly records: RunRecords;
  readonly report: (message: string) => void;
};

export const verifyWork = (records: RunRecords, problems: AuditProblems): Check => {
  const works = new Map<CellId, Work>();
  const workOf = ({ birth }: CellRecords): Work => {
    const found = works.get(birth.cell) ?? firstWork(birth.parent ?? 'outside');
    works.set(birth.cell, found);
    return found;
  };
  const next = (frame: Frame): void => {
    const { record } = frame;
    const cell = records.cells.get(frame.cell);
    if (cell !== undefined && isResident(cell, records)) {
      const report = (message: string): void =>
        problems.add('operation-record', problemLocation(frame, frame.cell), message);
      const check = { frame, cell, work: workOf(cell), records, report };
      if (record.type === 'settle') readSettled(check, cell.operations.get(record.op));
      if (record.type === 'post') verifyPost(check);
    }
    const ended = record.type === 'close' ? frame.cell : record.type === 'settle' ? record.ended?.cell : undefined;
    const endedCell = ended === undefined ? undefined : records.cells.get(ended);
    if (endedCell?.end === undefined || !isResident(endedCell, records)) return;
    const { output } = endedCell.end.outcome;
    if (output !== '' && !workOf(endedCell).texts.some((text) => holdsText(text, output)))
      problems.add('outcome-answer', problemLocation(frame, ended), 'its output was not written for its caller');
    works.delete(endedCell.birth.cell);
  };
  return { next };
};

/** A team that receives mail has no model and answers nobody. */
const isResident = ({ birth }: CellRecords, { definitions }: RunRecords): boolean =>
  birth.spawned !== undefined && definitions.get(birth.digest)?.team === undefined;

/** The first work, unless mail comes first, is the goal of the caller. */
const firstWork = (caller: CrossingEnd): Work => ({
  caller,
  asker: { from: caller, id: null },
  isAnswered: false,
  written: new Set(),
  deferred: [],
  chains: new Set(),
  texts: [],
});

const readSettled = (check: CheckContext, operation: OperationRecord | undefined): void => {
  const { record } = check.frame;
  if (operation === undefined || record.type !== 'settle' || !record.ok) return;
  readText(check, operation);
  if (operation.begin.do !== 'receive') return;
  const value = record.value as unknown as ReceiveResult;
  if (operation.begin.name === 'wait') beginWork(check, value);
  else readDuringWork(check, value);
};

const readText = ({ work, cell, records }: CheckContext, operation: OperationRecord): void => {
  const text = answersInJson(records.definitions, cell) ? jsonText(operation) : plainText(operation);
  if (text.trim() !== '' && answerEnd(work) === work.caller) work.texts = [...work.texts.slice(-1), text];
};

const jsonText = (operation: OperationRecord): string =>
  isAnswerCheck(operation) ? (checkedJson(operation) ?? '') : '';

const plainText = (operation: OperationRecord): string => {
  const { finish } = (operation.settle?.value ?? {}) as Partial<ModelReply>;
  return operation.attempt === undefined || finish === 'error' || finish === 'content-filter'
    ? ''
    : replyText(operation);
};

const beginWork = (check: CheckContext, { messages, deferred, closing }: ReceiveResult): void => {
  const { cell, work, report } = check;
  if (closing === true) return;
  const received = messages.map((seq) => readMessage(cell, seq));
  for (const { chain } of received) work.chains.add(chain);
  const askers = received.filter(({ asks }) => asks);
  const senders = new Set((askers.length > 0 ? received : []).map(({ from }) => from));
  if (senders.size > 1) report('its work is for several senders at once');
  const newest = askers.at(-1);
  work.asker = newest === undefined ? null : { from: newest.from, id: newest.id };
  work.written.clear();
  work.isAnswered = false;
  if ((deferred ?? []).join() !== work.deferred.map(({ seq }) => seq).join())
    report("it does not answer the person's messages that it read before");
  if (work.deferred.length > 0) work.asker = { from: 'outside', id: work.deferred.at(-1)!.id };
  work.deferred = [];
};

/** Mail that is read during the work makes nobody an asker. */
const readDuringWork = ({ cell, work }: CheckContext, { messages }: ReceiveResult): void => {
  for (const seq of messages) {
    const { from, id, asks, chain } = readMessage(cell, seq);
    work.chains.add(chain);
    if (asks && from === work.asker?.from) work.asker = { from, id };
    else if (asks && from === 'outside') work.deferred = [...work.deferred, { seq, id }];
  }
};

type ReceivedMessage = {
  readonly from: CrossingEnd;
  readonly id: string;
  readonly chain: string;
  readonly asks: boolean;
};

const readMessage = ({ received }: CellRecords, seq: number): ReceivedMessage => {
  const { entry, content = '{}\n' } = received.get(seq) ?? {};
  const isMail = entry?.kind === 'message' || entry?.kind === 'broadcast';
  const { id = '', chain = '', message_type: type } = isMail ? decodeMail(content) : ({} as Partial<Mail>);
  return { from: entry?.other ?? 'outside', id, chain, asks: type === 'message' };
};

const verifyPost = ({ frame, cell, work, records, report }: CheckContext): void => {
  const { record, contents = [] } = frame;
  if (record.type !== 'post') return;
  const sent = contents
    .filter(({ kind, from }) => kind === 'message' && from === frame.cell)
    .map(({ to, content }) => ({ to, ...decodeMail(content) }));
  for (const { id, chain } of sent)
    if (chain !== id && !work.chains.has(chain)) report(`${id} is in a chain that its sender never read`);
  if (record.name !== 'mail:answer') {
    if (sent.some((one) => one.message_type === 'answer')) report('an answer crosses before the work is done');
    for (const { to } of sent) work.written.add(to);
    return;
  }
  if (work.isAnswered) report('it answers the same work again');
  work.isAnswered = true;
  const { asker } = work;
  const to = asker !== null && work.written.has(asker.from) ? null : answerEnd(work);
  if (record.about?.['to'] !== to)
    report(`it answers ${JSON.stringify(record.about?.['to'])}, but the work was for ${to}`);
  const type = asker === null ? 'message' : 'answer';
  for (const one of sent)
    if (one.to !== to || one.message_type !== type || one.correlation_id !== (asker?.id ?? null))
      report(`an answer crosses to ${one.to}, but the work was for ${to}`);
    else if (!one.text.startsWith('(no answer: ') && !isLastAnswer(records, cell, one.text))
      report("its answer is not its model's last text");
};

/** What a root says unasked goes to the person; what another agent says unasked goes to nobody. */
const answerEnd = ({ asker, caller }: Work): CrossingEnd | null =>
  asker?.from ?? (caller === 'outside' ? 'outside' : null);
