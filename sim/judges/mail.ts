// A message crosses once to each of its recipients, with the true names of both ends and its true chain.
import type { CellId } from '#base';
import type { DeadLetter, CrossingEnd, Frame, Mail } from '#contracts';
import type { RunHistory } from '../history.ts';
import type { Judge, ReportProblem } from './judge.ts';
import { inheritedLimits } from './child-limits.ts';
import { runFacts } from './facts.ts';
import { agentPlans, recordedArgs, hasMail, isExpired, mailName, walkMail } from './mail-walk.ts';
import type { Delivery, MailCell, MailStep } from './mail-walk.ts';
import { answerEnd, Works } from './works.ts';
import type { Work } from './works.ts';

export const mail: Judge = {
  name: 'messages cross once, with true names',
  check: ({ runs }, report) => {
    let checks = 0;
    for (const run of runs) {
      if (!hasMail(run)) continue;
      const crossed = new Set<string>();
      const readers = new Map<CellId, Reader>();
      const works = new Works();
      walkMail(run, (step) => {
        checks += step.deliveries.length;
        const { frame } = step;
        const reader = readers.get(frame.cell) ?? { shown: [], since: [], written: 0 };
        readers.set(frame.cell, reader);
        const work = works.of(step);
        for (const delivery of step.deliveries) {
          if (delivery.mail === null) continue;
          const key = `${delivery.mail.id} to ${delivery.to}`;
          if (crossed.has(key)) report(`${key} to cross once`, `it crosses again in frame ${frame.no}`);
          crossed.add(key);
          judgeEnds(step, delivery, delivery.mail, report);
          judgeChain(step, delivery, reader, report);
        }
        judgePost(step, work, report);
        judgeWork(step, work, report);
        judgeLoop(step, readers, run, report);
        updateReader(step, reader, work);
        works.update(step);
      });
    }
    return checks;
  },
};

type Read = { readonly from: CrossingEnd; readonly chain: string };

const mailPosts = ['tool:send_message', 'tool:publish', 'mail:answer'];

/** What a cell has read since it was woken, up to its last model request and since; and how often it has written at all. */
type Reader = { shown: readonly Read[]; since: readonly Read[]; written: number };

const updateReader = ({ frame, received, deliveries }: MailStep, reader: Reader, { deferred }: Work): void => {
  // What could not be delivered was written too.
  if (frame.record.type === 'post' && (deliveries.length > 0 || mailPosts.includes(frame.record.name)))
    reader.written++;
  if (frame.attempt !== undefined) Object.assign(reader, { shown: [...reader.shown, ...reader.since], since: [] });
  if (received === null || received.value === null) return;
  const reads = received.deliveries.flatMap(({ from, mail: one }) =>
    one === null ? [] : [{ from, chain: one.chain }],
  );
  if (received.receive.name !== 'wait') reader.since = [...reader.since, ...reads];
  else {
    const earlier = deferred.map(({ chain }) => ({ from: 'outside' as const, chain }));
    Object.assign(reader, { shown: [...earlier, ...reads], since: [] });
  }
};

/** A piece of work is for one sender, who waited longest. All its mail is there, and nobody else's. */
const judgeWork = ({ frame, received, live }: MailStep, { deferred }: Work, report: ReportProblem): void => {
  if (received?.receive.name !== 'wait' || received.value === null || received.value.closing === true) return;
  const { deliveries: taken, value } = received;
  const where = `the work of ${frame.cell} that begins in frame ${frame.no}`;
  if ((value.deferred ?? []).join() !== deferred.map(({ seq }) => seq).join())
    report(
      `${where} to answer what it read before (${deferred.map(({ id }) => id).join(', ')})`,
      JSON.stringify(value.deferred ?? []),
    );
  const [first] = taken;
  if (first === undefined) return;
  const box = (live.get(frame.cell)?.mailbox ?? []).filter((one) => !isExpired(one, frame.at));
  const asks = ({ from }: Delivery): boolean =>
    box.some((one) => one.from === from && one.mail?.message_type === 'message');
  const isPart = (one: Delivery): boolean => (asks(first) ? one.from === first.from : !asks(one));
  const stranger = taken.find((one) => !isPart(one));
  if (stranger !== undefined) report(`${where} to be for ${first.from}`, `it gets mail of ${stranger.from} too`);
  const left = box.filter((one) => !taken.includes(one) && one.seq < taken.at(-1)!.seq);
  const late = left.find((one) => one.seq < first.seq || isPart(one));
  if (late !== undefined && taken.length < workMax)
    report(`${where} to be for ${late.from}, who wrote first, or to get all mail`, `entry ${late.seq} is left`);
};

/** The most messages of one piece of work. */
const workMax = 100;

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

/** The chain of what its recipient wrote, or of the newest message read; what the cell is receiving right now may count or not. */
const judgeChain = (
  { frame }: MailStep,
  { to, mail: one, kind }: Delivery,
  { shown, since }: Reader,
  report: ReportProblem,
): void => {
  if (one === null) return;
  const reads = frame.record.type === 'mail' ? [] : [...shown, ...since];
  const chains = Array.from({ length: since.length + 1 }, (_, more) => {
    const known = reads.slice(0, shown.length + more);
    const own = kind === 'broadcast' ? undefined : known.findLast(({ from }) => from === to);
    return own?.chain ?? known.at(-1)?.chain ?? one.id;
  });
  if (!chains.includes(one.chain))
    report(`${one.id} in frame ${frame.no} to be in the chain ${chains.join(' or ')}`, one.chain);
};

/** An agent that ends because of a loop has itself written as often as its limits allow. */
const judgeLoop = (
  { frame: { cell, record, no }, live }: MailStep,
  readers: ReadonlyMap<CellId, Reader>,
  run: RunHistory,
  report: ReportProblem,
): void => {
  const ended =
    record.type === 'close' ? { cell, outcome: record.outcome } : record.type === 'settle' ? record.ended : undefined;
  if (ended?.outcome.failure?.code !== 'mail_loop') return;
  const agent = live.get(ended.cell)?.birth.agent ?? '';
  const facts = runFacts(run).cells.get(ended.cell);
  const inherited = facts === undefined ? {} : inheritedLimits(agentPlans(run), facts);
  const { maxHops = 100, answersPerMinute = 60 } = agentPlans(run).get(agent)?.limits ?? {};
  const { written = 0 } = readers.get(ended.cell) ?? {};
  const least = Math.min(
    maxHops,
    answersPerMinute,
    inherited.maxHops ?? Infinity,
    inherited.answersPerMinute ?? Infinity,
  );
  if (written < least)
    report(`${ended.cell} to write ${least} times before it is in a loop`, `${written}, frame ${no}`);
};

const judgePost = (step: MailStep, work: Work, report: ReportProblem): void => {
  const { record } = step.frame;
  if (record.type !== 'post') return;
  if (!record.ok && record.failure?.code === 'defect')
    report('no defect', `frame ${step.frame.no}: ${record.failure.detail}`);
  if (record.name === 'tool:send_message') judgeSent(step, record, report);
  else if (record.name === 'tool:publish') judgePublished(step, record, report);
  else if (record.name === 'mail:answer') judgeAnswer(step, record, work, report);
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

/** The answer goes to the asker of the work and to nobody else, once, unless the asker has been messaged already. */
const judgeAnswer = ({ frame, deliveries }: MailStep, record: Post, work: Work, report: ReportProblem): void => {
  const { asker, written } = work;
  const { dead = [] } = (record.value ?? {}) as PostValue;
  const to = asker !== null && written.has(asker.from) ? null : answerEnd(work);
  const where = `frame ${frame.no} to answer ${to ?? 'nobody'}`;
  if (work.isAnswered) report(`${where} once`, 'it answers the same work again');
  if (record.about?.['to'] !== to) report(where, `it says ${JSON.stringify(record.about?.['to'] ?? null)}`);
  for (const { to: reader, mail: one } of deliveries) {
    if (reader !== to) report(where, `it answers ${reader}`);
    if (one?.correlation_id !== (asker?.id ?? null) || one.message_type !== (asker === null ? 'message' : 'answer'))
      report(`${where} about ${asker?.id ?? 'nothing'}`, `${one?.message_type} about ${one?.correlation_id}`);
  }
  if (record.ok && deliveries.length + dead.length !== (to === null ? 0 : 1))
    report(where, `${deliveries.length} answers, and ${dead.length} undeliverable`);
};
