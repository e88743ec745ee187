// Follows the mail of a run through its log, without code of the runtime: live cells, their topics, and their mailboxes.
import type { CellId } from '#base';
import type {
  BeginKind,
  Birth,
  CrossingContent,
  CrossingEnd,
  Frame,
  Mail,
  ReceiveResult,
  RecordType,
} from '#contracts';
import { withChildren } from '../agents.ts';
import type { RunHistory } from '../history.ts';
import type { AgentPlan, MailPlan } from '../plan.ts';

export type Delivery = {
  readonly to: CrossingEnd;
  readonly from: CrossingEnd;
  readonly seq: number;
  readonly kind: 'message' | 'broadcast' | 'result';
  /** Null for the result of a child. */
  readonly mail: Mail | null;
  readonly bytes: number;
  readonly frame: Frame;
};

export type Receive = {
  readonly name: string;
  readonly frame: Frame;
  /** The arguments of the call; null if they are not known. */
  readonly args: { readonly from?: unknown; readonly topics?: unknown } | null;
};

export type MailCell = {
  readonly birth: Birth;
  readonly plan: MailPlan | null;
  readonly createdIn: number;
  readonly topics: Set<string>;
  mailbox: Delivery[];
};

/** One record, before its changes are applied. */
export type MailStep = {
  readonly frame: Frame;
  /** Live cells, and cells that have ended. */
  readonly live: ReadonlyMap<CellId, MailCell>;
  readonly ended: ReadonlyMap<CellId, MailCell>;
  /** What it delivers, to cells and to the outside. */
  readonly deliveries: readonly Delivery[];
  /** Set if it ends a wait for mail. */
  readonly received: Received | null;
  /** When the run was last resumed. */
  readonly resumedAt: number;
};

export type Received = {
  readonly receive: Receive;
  readonly value: ReceiveResult | null;
  readonly seqs: readonly number[];
  readonly deliveries: readonly Delivery[];
};

export const hasMail = ({ agent }: RunHistory): boolean => agent.mail !== null;

export const agentPlans = ({ agent }: RunHistory): ReadonlyMap<string, AgentPlan> =>
  new Map(withChildren(agent).map((plan) => [plan.name, plan]));

export const mailName = ({ spawned, agent }: Birth): string => spawned?.name ?? agent;

/** The arguments of a mail tool call, if they are fully recorded. */
export const recordedArgs = (about: unknown): Readonly<Record<string, unknown>> | null => {
  const { args, argsBytes } = (about ?? {}) as { readonly args?: unknown; readonly argsBytes?: unknown };
  return typeof args === 'string' && argsBytes === undefined && args !== '' ? (JSON.parse(args) as never) : null;
};

export const walkMail = (run: RunHistory, look: (step: MailStep) => void): void => {
  const plans = agentPlans(run);
  const live = new Map<CellId, MailCell>();
  const ended = new Map<CellId, MailCell>();
  const waiting = new Map<string, Receive>();
  let resumedAt = 0;
  for (const frame of run.frames) {
    const { record, cell } = frame;
    if (record.type === 'resume' || record.type === 'fork') resumedAt = frame.at;
    const deliveries = deliveriesIn(frame, live);
    look({ frame, live, ended, deliveries, received: receivedIn(frame, waiting, live), resumedAt });
    const addCell = (birth: Birth): void => {
      const plan = plans.get(birth.agent)?.mail ?? null;
      const heard = new Set(birth.spawned?.topics);
      live.set(birth.cell, { birth, plan, createdIn: frame.no, topics: heard, mailbox: [] });
    };
    if (record.type === 'open') addCell(record.birth);
    if (record.type === 'begin') {
      if (record.birth !== undefined) addCell(record.birth);
      if (waitsForMail[record.do])
        waiting.set(`${cell}/${record.op}`, { name: record.name, frame, args: recordedArgs(record.about) });
    }
    if (record.type === 'settle' && waiting.delete(`${cell}/${record.op}`))
      removeFromMailbox(live.get(cell), record.value);
    for (const delivery of deliveries) if (delivery.to !== 'outside') live.get(delivery.to)?.mailbox.push(delivery);
    if (record.type === 'post') {
      const { subscribed, told } = (record.value ?? {}) as PostEffects;
      if (record.ok && subscribed !== undefined) live.get(cell)?.topics.add(subscribed);
      // A parent that got a child's end as a tool result does not read it as mail.
      if (record.ok && told !== undefined) removeFromMailbox(live.get(cell), { messages: told });
    }
    const over = record.type === 'close' ? cell : record.type === 'settle' ? record.ended?.cell : undefined;
    const endedCell = over && live.get(over);
    if (over === undefined || endedCell === undefined) continue;
    live.delete(over);
    ended.set(over, endedCell);
  }
};

const waitsForMail: Record<BeginKind, boolean> = { receive: true, step: false, child: false, sleep: false, ask: false };

/** What a post changes besides its crossings. */
type PostEffects = { readonly subscribed?: string; readonly told?: readonly number[] };

/** Whether it has expired by then. */
export const isExpired = ({ mail }: Delivery, at: number): boolean => (mail?.expires_at ?? Infinity) <= at;

const removeFromMailbox = (resident: MailCell | undefined, value: unknown): void => {
  const { messages = [], expired = [] } = (value ?? {}) as Partial<ReceiveResult>;
  if (resident !== undefined && messages.length + expired.length > 0)
    resident.mailbox = resident.mailbox.filter(({ seq }) => !messages.includes(seq) && !expired.includes(seq));
};

const receivedIn = (
  { record, cell }: Frame,
  waiting: ReadonlyMap<string, Receive>,
  live: ReadonlyMap<CellId, MailCell>,
): Received | null => {
  const receive = record.type === 'settle' ? waiting.get(`${cell}/${record.op}`) : undefined;
  if (receive === undefined || record.type !== 'settle') return null;
  const value = record.ok ? (record.value as unknown as ReceiveResult) : null;
  const seqs = value?.messages ?? [];
  const box = live.get(cell)?.mailbox ?? [];
  return { receive, value, seqs, deliveries: seqs.flatMap((seq) => box.find((one) => one.seq === seq) ?? []) };
};

/** Sent messages, messages from outside, and the results of spawned agents. Given context is not mail. */
const deliveriesIn = (frame: Frame, live: ReadonlyMap<CellId, MailCell>): readonly Delivery[] => {
  const { record, contents = [] } = frame;
  if (!bringsMail[record.type]) return [];
  return contents.flatMap((crossed): readonly Delivery[] => {
    const { kind, from, to, seq, content } = crossed;
    const common = { from, to, seq, frame, bytes: Buffer.byteLength(content) };
    if (kind === 'message' || kind === 'broadcast')
      return isArrival(crossed) ? [{ ...common, kind, mail: mailOf(content) }] : [];
    const isEnd =
      kind === 'result' &&
      record.type === 'settle' &&
      from === record.ended?.cell &&
      live.get(record.ended.cell)?.birth.spawned !== undefined;
    return isEnd ? [{ ...common, kind: 'result', mail: null, bytes: 0 }] : [];
  });
};

/** With `begin`, a team hands a message to the task that it is for. What is given is context, not mail. */
const bringsMail: Record<RecordType, boolean> = {
  post: true,
  mail: true,
  settle: true,
  begin: true,
  open: false,
  held: false,
  again: false,
  resume: false,
  fork: false,
  give: false,
  delivered: false,
  ruling: false,
  cancel: false,
  close: false,
};

const isArrival = ({ cell, to }: CrossingContent): boolean => to === 'outside' || cell === to;

/** A line of JSON, then the text. */
const mailOf = (content: string): Mail => {
  const end = content.indexOf('\n');
  return { ...(JSON.parse(content.slice(0, end)) as Omit<Mail, 'text'>), text: content.slice(end + 1) };
};
