// A message crosses once to each of its recipients, with the true names of both ends and a true hop count.
import type { CellId } from '#base';
import type { DeadLetter, CrossingEnd, Frame, Mail } from '#contracts';
import type { Judge, ReportProblem } from './judge.ts';
import { recordedArgs, hasMail, mailName, walkMail } from './mail-walk.ts';
import type { Delivery, MailCell, MailStep } from './mail-walk.ts';

export const mail: Judge = {
  name: 'messages cross once, with true names',
  check: ({ runs }, report) => {
    let checks = 0;
    for (const run of runs) {
      if (!hasMail(run)) continue;
      const crossed = new Set<string>();
      const readers = new Map<CellId, Reader>();
      walkMail(run, (step) => {
        checks += step.deliveries.length;
        const { frame } = step;
        const reader = readers.get(frame.cell) ?? createReader(step);
        readers.set(frame.cell, reader);
        for (const delivery of step.deliveries) {
          if (delivery.mail === null) continue;
          const key = `${delivery.mail.id} to ${delivery.to}`;
          if (crossed.has(key)) report(`${key} to cross once`, `it crosses again in frame ${frame.no}`);
          crossed.add(key);
          judgeEnds(step, delivery, delivery.mail, report);
          judgeHops(step, delivery.mail, reader, report);
        }
        judgePost(step, reader, report);
        updateReader(step, reader);
      });
    }
    return checks;
  },
};

/** What a cell has read since it was woken, who waits for its answer, and whom it has messaged. */
type Reader = {
  /** The highest hop count of what it had read at its last model request, and of everything received since. */
  shown: number;
  handed: number;
  requesters: readonly { readonly from: CrossingEnd; readonly id: string | null; readonly hops: number }[];
  written: Set<CrossingEnd>;
};

/** A cell that starts with a goal answers whoever gave it. */
const createReader = ({ frame: { cell }, live }: MailStep): Reader => {
  const from = live.get(cell)?.birth.parent ?? 'outside';
  return { shown: 0, handed: 0, requesters: [{ from, id: null, hops: 0 }], written: new Set() };
};

const updateReader = ({ frame, received, deliveries }: MailStep, reader: Reader): void => {
  const { record } = frame;
  if (frame.attempt !== undefined) reader.shown = reader.handed;
  if (record.type === 'post' && record.name === 'tool:send_message')
    for (const { to } of deliveries) reader.written.add(to);
  if (received === null || received.value === null) return;
  const mails = received.deliveries.flatMap(({ mail: one, from }) => (one === null ? [] : [{ ...one, from }]));
  if (received.receive.name === 'wait') {
    Object.assign(reader, { shown: 0, handed: 0, written: new Set() });
    reader.requesters = mails.flatMap(({ message_type: type, id, from, hops }) =>
      type === 'message' ? [{ from, id, hops }] : [],
    );
  } else
    // An answer is the only way to write to a person.
    reader.requesters = [
      ...reader.requesters,
      ...mails.flatMap(({ message_type: type, id, from, hops }) =>
        type === 'message' && from === 'outside' ? [{ from, id, hops }] : [],
      ),
    ];
  for (const { hops } of mails) reader.handed = Math.max(reader.handed, hops);
  if (received.receive.name === 'wait') reader.shown = reader.handed;
};

const judgeEnds = (
  { frame, live, ended }: MailStep,
  { from, to, kind }: Delivery,
  one: Mail,
  report: ReportProblem,
): void => {
  const where = `${one.id} in frame ${frame.no}`;
  const sender = frame.record.type === 'mail' ? 'outside' : frame.cell;
  if (from !== sender) report(`${where} to come from ${sender}`, `it comes from ${from}`);
  const at = (end: CrossingEnd): MailCell | undefined =>
    end === 'outside' ? undefined : (live.get(end) ?? ended.get(end));
  const [writer, reader] = [at(from), at(to)];
  const name = writer === undefined ? null : mailName(writer.birth);
  if (one.agent_id !== name) report(`${where} to name ${name} as its sender`, `it names ${one.agent_id}`);
  const readerName = reader === undefined ? 'person' : mailName(reader.birth);
  if (one.recipient_id !== readerName)
    report(`${where} to name ${readerName} as its reader`, `it names ${one.recipient_id}`);
  if (one.at !== frame.at) report(`${where} to have the time of its frame`, `it is ${one.at - frame.at} ms later`);
  if (kind === 'broadcast') {
    if (writer !== undefined && !writer.plan?.say.includes(one.topic ?? ''))
      report(`${where} on a topic that ${name} may publish to`, `${one.topic}`);
    if (reader !== undefined && !reader.topics.has(one.topic ?? ''))
      report(`${where} to reach only subscribers of ${one.topic}`, readerName);
  } else if (
    writer !== undefined &&
    reader !== undefined &&
    !(mayMessage(writer, reader) && mayMessage(reader, writer))
  )
    report(`${where} to pass only between agents that may message each other`, `${name} and ${readerName}`);
};

const mayMessage = ({ birth, plan }: MailCell, { birth: other }: MailCell): boolean =>
  (plan?.messages ?? ['parent', 'children']).some(
    (name) =>
      (name === 'parent' && other.cell === birth.parent) ||
      (name === 'children' && other.parent === birth.cell) ||
      (name === 'siblings' && other.parent === birth.parent && birth.parent !== null) ||
      name === other.agent,
  );

/** One more than the highest hop count of what it has read; what it is receiving right now may count or not. */
const judgeHops = (
  { frame }: MailStep,
  { id, hops, message_type: type, correlation_id: answered }: Mail,
  reader: Reader,
  report: ReportProblem,
): void => {
  const { shown, handed, requesters } = reader;
  const asker = requesters.find((one) => one.id === answered);
  const [least, most] =
    frame.record.type === 'mail'
      ? [0, 0]
      : type === 'answer'
        ? [(asker?.hops ?? 0) + 1, (asker?.hops ?? 0) + 1]
        : [shown + 1, handed + 1];
  if (hops < least || hops > most) report(`${id} in frame ${frame.no} to have ${least} to ${most} hops`, `${hops}`);
};

const judgePost = (step: MailStep, reader: Reader, report: ReportProblem): void => {
  const { record } = step.frame;
  if (record.type !== 'post') return;
  if (!record.ok && record.failure?.code === 'defect')
    report('no defect', `frame ${step.frame.no}: ${record.failure.detail}`);
  if (record.name === 'tool:send_message') judgeSent(step, record, report);
  else if (record.name === 'tool:publish') judgePublished(step, record, report);
  else if (record.name === 'mail:answer') judgeAnswers(step, record, reader, report);
  else if (step.deliveries.length > 0) report(`no mail in frame ${step.frame.no}`, `${record.name} delivers some`);
};

type Post = Extract<Frame['record'], { type: 'post' }>;

type PostValue = { readonly text?: string; readonly id?: string; readonly dead?: readonly DeadLetter[] };

const postResult = ({
  value,
}: Post): PostValue & { readonly success: boolean; readonly message: string | undefined } => {
  const kept = (value ?? {}) as PostValue;
  const told = JSON.parse(kept.text ?? '{}') as { readonly success?: boolean; readonly message_id?: string };
  return { ...kept, success: told.success === true, message: told.message_id };
};

const judgeSent = ({ frame, deliveries, live }: MailStep, record: Post, report: ReportProblem): void => {
  const { success, message, dead = [] } = postResult(record);
  const [delivery] = deliveries;
  if (deliveries.length !== (success ? 1 : 0) || delivery?.mail?.id !== (success ? message : undefined))
    return report(
      `frame ${frame.no} to send ${success ? message : 'nothing'}`,
      deliveries.map((one) => one.mail?.id).join(', '),
    );
  const args = recordedArgs(record.about);
  if (record.ok && !success && dead.length !== 1 && args !== null && String(args['message']).trim() !== '')
    report(`frame ${frame.no} to say why nothing was sent`, JSON.stringify(record.value ?? null));
  if (args === null || delivery === undefined) return;
  const reader = delivery.to === 'outside' ? undefined : live.get(delivery.to)?.birth;
  const isMeant =
    args['to'] === 'parent'
      ? reader?.cell === live.get(frame.cell)?.birth.parent
      : reader !== undefined && (mailName(reader) === args['to'] || reader.agent === args['to']);
  if (!isMeant) report(`frame ${frame.no} to write to ${String(args['to'])}`, `it writes to ${delivery.to}`);
  if (delivery.mail?.text !== args['message'])
    report(`the text of frame ${frame.no}`, delivery.mail?.text.slice(0, 200) ?? '');
};

/** It reaches all live subscribers, or the record says why not. */
const judgePublished = ({ frame, deliveries, live }: MailStep, record: Post, report: ReportProblem): void => {
  const { success, dead = [] } = postResult(record);
  const { topic } = recordedArgs(record.about) ?? {};
  if (typeof topic !== 'string') return;
  const hearers = success
    ? [...live.values()].filter(({ topics, birth }) => topics.has(topic) && birth.cell !== frame.cell)
    : [];
  const reached = deliveries.filter(({ to }) => to !== 'outside').map(({ to }) => to);
  const missed = hearers.filter(
    ({ birth }) =>
      !reached.includes(birth.cell) && !dead.some(({ to, reason }) => to === mailName(birth) && reason === 'overflow'),
  );
  if (missed.length > 0 || reached.length + dead.length !== hearers.length)
    report(
      `frame ${frame.no} to reach ${hearers.map(({ birth }) => birth.cell).join(', ') || 'nobody'}`,
      `it reaches ${reached.join(', ') || 'nobody'}`,
    );
};

/** Answers go once to each requester that has not been messaged already. */
const judgeAnswers = (
  { frame, deliveries, live }: MailStep,
  record: Post,
  reader: Reader,
  report: ReportProblem,
): void => {
  const { dead = [] } = (record.value ?? {}) as PostValue;
  const { written } = reader;
  // A root that was woken by its own agents answers the person.
  const isRoot = live.get(frame.cell)?.birth.parent === null && reader.requesters.length === 0;
  const askers = isRoot ? [{ from: 'outside', id: null, hops: reader.handed } as const] : reader.requesters;
  for (const { to, mail: one } of deliveries)
    if (!askers.some(({ from, id }) => from === to && id === one?.correlation_id))
      report(`frame ${frame.no} to answer only requesters`, `it answers ${to} about ${one?.correlation_id}`);
  const open = new Set(askers.flatMap(({ from }) => (written.has(from) ? [] : [from]))).size;
  const answered = deliveries.length + dead.length;
  if (record.ok && (answered < open || answered > askers.length))
    report(`${open} answers in frame ${frame.no}`, `${deliveries.length}, and ${dead.length} undeliverable`);
  reader.requesters = [];
};
