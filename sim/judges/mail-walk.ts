// The mail of a run, followed through its log with no code of the runtime: who lives, who hears what, what lies in which box.
import type { CellId } from '#base';
import type { Birth, CrossingContent, CrossingEnd, Frame, Mail, ReceiveResult } from '#contracts';
import { withChildren } from '../agents.ts';
import type { RunHistory } from '../history.ts';
import type { AgentPlan, MailPlan } from '../plan.ts';

export type Letter = {
  readonly to: CrossingEnd;
  readonly from: CrossingEnd;
  readonly seq: number;
  readonly kind: 'message' | 'broadcast' | 'result';
  /** Null for the end of a child. */
  readonly mail: Mail | null;
  readonly bytes: number;
  readonly frame: Frame;
};

export type Receive = {
  readonly name: string;
  readonly frame: Frame;
  /** What its model asked for; null when that is not known. */
  readonly args: { readonly from?: unknown; readonly topics?: unknown } | null;
};

export type Resident = {
  readonly birth: Birth;
  readonly plan: MailPlan | null;
  readonly bornIn: number;
  readonly heard: Set<string>;
  box: Letter[];
};

/** One record, before it changes anything. */
export type Step = {
  readonly frame: Frame;
  /** Those who live, and those who have ended. */
  readonly living: ReadonlyMap<CellId, Resident>;
  readonly ended: ReadonlyMap<CellId, Resident>;
  /** What it brings, to cells and outside. */
  readonly letters: readonly Letter[];
  /** Set when it ends a wait for mail. */
  readonly received: Received | null;
  /** When the run was gone on with last. */
  readonly resumedAt: number;
};

export type Received = {
  readonly receive: Receive;
  readonly value: ReceiveResult | null;
  readonly seqs: readonly number[];
  readonly letters: readonly Letter[];
};

export const hasMail = ({ agent }: RunHistory): boolean => agent.mail !== null;

export const plansOf = ({ agent }: RunHistory): ReadonlyMap<string, AgentPlan> =>
  new Map(withChildren(agent).map((plan) => [plan.name, plan]));

export const nameOf = ({ spawned, agent }: Birth): string => spawned?.name ?? agent;

/** What a tool for mail was asked, if all of it is on record. */
export const argsOf = (about: unknown): Readonly<Record<string, unknown>> | null => {
  const { args, argsBytes } = (about ?? {}) as { readonly args?: unknown; readonly argsBytes?: unknown };
  return typeof args === 'string' && argsBytes === undefined && args !== '' ? (JSON.parse(args) as never) : null;
};

export const walkMail = (run: RunHistory, look: (step: Step) => void): void => {
  const plans = plansOf(run);
  const living = new Map<CellId, Resident>();
  const ended = new Map<CellId, Resident>();
  const waiting = new Map<string, Receive>();
  let resumedAt = 0;
  for (const frame of run.frames) {
    const { record, cell } = frame;
    if (record.type === 'resume' || record.type === 'fork') resumedAt = frame.at;
    const letters = lettersIn(frame, living);
    look({ frame, living, ended, letters, received: receivedIn(frame, waiting, living), resumedAt });
    if ((record.type === 'open' || record.type === 'begin') && record.birth !== undefined) {
      const { birth } = record;
      const plan = plans.get(birth.agent)?.mail ?? null;
      const heard = new Set(birth.spawned?.topics);
      living.set(birth.cell, { birth, plan, bornIn: frame.no, heard, box: [] });
    }
    if (record.type === 'begin' && record.do === 'receive')
      waiting.set(`${cell}/${record.op}`, { name: record.name, frame, args: argsOf(record.about) });
    if (record.type === 'settle' && waiting.delete(`${cell}/${record.op}`)) takeOut(living.get(cell), record.value);
    for (const letter of letters) if (letter.to !== 'outside') living.get(letter.to)?.box.push(letter);
    if (record.type === 'post') {
      const { subscribed, told } = (record.value ?? {}) as Posted;
      if (record.ok && subscribed !== undefined) living.get(cell)?.heard.add(subscribed);
      // Who is told of an end in so many words need not read of it.
      if (record.ok && told !== undefined) takeOut(living.get(cell), { messages: told });
    }
    const over = record.type === 'close' ? cell : record.type === 'settle' ? record.ended?.cell : undefined;
    const gone = over && living.get(over);
    if (over === undefined || gone === undefined) continue;
    living.delete(over);
    ended.set(over, gone);
  }
};

/** What a post leaves behind besides what crossed. */
type Posted = { readonly subscribed?: string; readonly told?: readonly number[] };

/** Whether nobody may read it any more by then. */
export const isLate = ({ mail }: Letter, at: number): boolean => (mail?.expires_at ?? Infinity) <= at;

const takeOut = (resident: Resident | undefined, value: unknown): void => {
  const { messages = [], expired = [] } = (value ?? {}) as Partial<ReceiveResult>;
  if (resident !== undefined && messages.length + expired.length > 0)
    resident.box = resident.box.filter(({ seq }) => !messages.includes(seq) && !expired.includes(seq));
};

const receivedIn = (
  { record, cell }: Frame,
  waiting: ReadonlyMap<string, Receive>,
  living: ReadonlyMap<CellId, Resident>,
): Received | null => {
  const receive = record.type === 'settle' ? waiting.get(`${cell}/${record.op}`) : undefined;
  if (receive === undefined || record.type !== 'settle') return null;
  const value = record.ok ? (record.value as unknown as ReceiveResult) : null;
  const seqs = value?.messages ?? [];
  const box = living.get(cell)?.box ?? [];
  return { receive, value, seqs, letters: seqs.flatMap((seq) => box.find((one) => one.seq === seq) ?? []) };
};

/** Mail that is sent, mail from outside, and the ends of those that were spawned. What is given is none. */
const lettersIn = (frame: Frame, living: ReadonlyMap<CellId, Resident>): readonly Letter[] => {
  const { record, contents = [] } = frame;
  return contents.flatMap((crossed): readonly Letter[] => {
    const { kind, from, to, seq, content } = crossed;
    const common = { from, to, seq, frame, bytes: Buffer.byteLength(content) };
    if ((kind === 'message' || kind === 'broadcast') && record.type !== 'give')
      return isArrival(crossed) ? [{ ...common, kind, mail: mailOf(content) }] : [];
    const isEnd =
      kind === 'result' &&
      record.type === 'settle' &&
      from === record.ended?.cell &&
      living.get(record.ended.cell)?.birth.spawned !== undefined;
    return isEnd ? [{ ...common, kind: 'result', mail: null, bytes: 0 }] : [];
  });
};

const isArrival = ({ cell, to }: CrossingContent): boolean => to === 'outside' || cell === to;

/** A line of JSON, then the text. */
const mailOf = (content: string): Mail => {
  const end = content.indexOf('\n');
  return { ...(JSON.parse(content.slice(0, end)) as Omit<Mail, 'text'>), text: content.slice(end + 1) };
};
