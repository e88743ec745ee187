// Tracks every message of a run: queued, delivered, read, or dead with a reason. Reads only frames.
import { sha256, utf8Bytes, unknownKind } from '#base';
import type { CellId } from '#base';
import { decodeEnvelope, decodeMail, decodeRoutedMessages } from '#contracts';
import type {
  CrossingContent,
  DeadLetter,
  DeadReason,
  CrossingEnd,
  Frame,
  RecordOf,
  MailReport,
  ReceiveResult,
  Source,
} from '#contracts';
import { OpenReports } from './open-reports.ts';

type MutableReport = { -readonly [K in keyof MailReport]: MailReport[K] };

export type MessageFold = {
  /** The messages that changed with this frame, in their new state. */
  next(frame: Frame): readonly MailReport[];
};

/** Keeps only the messages that can still change: a long-lived run has any number of them. */
export const followMessageStates = (): MessageFold => {
  const state = startState(null);
  return { next: (frame) => changes(frame, state).map((letter) => ({ ...letter })) };
};

const startState = (reports: State['reports']): State => ({
  reports,
  openReports: new OpenReports(),
  openToOutside: new Map(),
  names: new Map(),
  spawned: new Set(),
  receives: new Set(),
  opened: 0,
});

type State = {
  /** All messages, in log order; null: they are not kept. */
  readonly reports: MutableReport[] | null;
  /** Messages that are neither read nor dead, by cell and ledger seq. */
  readonly openReports: OpenReports<MutableReport>;
  /** Those to the outside by their ids, with their place among all. */
  readonly openToOutside: Map<string, { readonly key: string; readonly nth: number }>;
  /** How many messages have been opened. */
  opened: number;
  readonly names: Map<CellId, string>;
  readonly spawned: Set<CellId>;
  readonly receives: Set<string>;
};

const changes = (frame: Frame, state: State): readonly MutableReport[] => {
  const { record, cell } = frame;
  if ((record.type === 'open' || record.type === 'begin') && record.birth !== undefined) {
    const { birth } = record;
    state.names.set(birth.cell, birth.spawned?.name ?? birth.agent);
    if (birth.spawned !== undefined && birth.parent !== null) state.spawned.add(birth.cell);
  }
  if (record.type === 'begin' && record.do === 'receive') state.receives.add(`${cell}/${record.op}`);
  return [
    ...markRead(frame, state),
    ...(frame.contents ?? []).flatMap((content) => queueMessage(frame, content, state)),
    ...recordChanges(frame, state),
    ...markUnreadDead(frame, state),
  ];
};

const recordChanges = (frame: Frame, state: State): readonly MutableReport[] => {
  const { record, cell } = frame;
  switch (record.type) {
    case 'post':
      return [...addDeadLetters(frame, cell, record.value, state), ...markReported(frame, record.value, state)];
    case 'mail':
      return record.dead === undefined ? [] : addDeadLetters(frame, 'outside', { dead: [record.dead] }, state);
    case 'settle':
      return markDelivered(frame, record, state);
    case 'delivered':
      return markHandedOut(frame, record.messages, state);
    case 'open':
    case 'begin':
    case 'held':
    case 'again':
    case 'resume':
    case 'fork':
    case 'give':
    case 'ruling':
    case 'cancel':
    case 'close':
      return [];
    default:
      return unknownKind(record, []);
  }
};

const queueMessage = (frame: Frame, content: CrossingContent, state: State): readonly MutableReport[] => {
  if (frame.record.type === 'begin' && content.kind === 'message') return markHandedOn(frame, content, state);
  const letter = createReport(frame, content, state);
  if (letter === null) return [];
  state.reports?.push(letter);
  const key = `${content.cell}/${content.seq}`;
  if (letter.state === 'queued') {
    state.openReports.add(key, letter);
    if (letter.to === 'outside') state.openToOutside.set(letter.id, { key, nth: state.opened++ });
  }
  return [letter];
};

/** When a team hands a message to the task it is for, the message counts as read. */
const markHandedOn = (
  { at }: Frame,
  { from, content }: CrossingContent,
  { openReports }: State,
): readonly MutableReport[] => {
  const { id } = decodeMail(content);
  for (const [key, letter] of openReports.toward(from)) {
    if (letter.id !== id) continue;
    openReports.delete(key);
    return [Object.assign(letter, { state: 'read', deliveredAt: letter.deliveredAt ?? at, readAt: at } as const)];
  }
  return [];
};

const blank = {
  topic: null,
  correlation_id: null,
  chain: null,
  state: 'queued',
  deliveredAt: null,
  readAt: null,
  deadAt: null,
  reason: null,
} as const;

const createReport = (frame: Frame, crossing: CrossingContent, state: State): MutableReport | null => {
  const { kind, from, to, content } = crossing;
  const sizes = { bytes: utf8Bytes(content), sha256: sha256(content), queuedAt: frame.at };
  if (kind === 'message' && frame.record.type === 'give') {
    const { agent_id: sender, recipient_id: recipient } = decodeRoutedMessages(content);
    return {
      ...blank,
      ...sizes,
      id: reportId(crossing),
      message_type: 'context',
      from,
      to,
      agent_id: sender,
      recipient_id: recipient,
      state: 'delivered',
      deliveredAt: frame.at,
    };
  }
  if (kind === 'message' || kind === 'broadcast') {
    const {
      id,
      message_type: type,
      agent_id: sender,
      recipient_id: recipient,
      topic,
      correlation_id: correlation,
      chain,
    } = decodeMail(content);
    return {
      ...blank,
      ...sizes,
      id,
      message_type: type,
      from,
      to,
      agent_id: sender,
      recipient_id: recipient,
      topic: topic ?? null,
      correlation_id: correlation,
      chain,
    };
  }
  if (kind !== 'result' || from === 'outside' || !state.spawned.has(from)) return null;
  const { agent_id: sender } = decodeEnvelope(content);
  return {
    ...blank,
    ...sizes,
    id: reportId(crossing),
    message_type: 'result',
    from,
    to,
    agent_id: sender ?? null,
    recipient_id: endName(to, state),
  };
};

const reportId = ({ cell, seq }: CrossingContent): string => `m-${sha256(`${cell} entry ${seq}`).slice(0, 12)}`;

const endName = (end: CrossingEnd, { names }: State): string =>
  end === 'outside' ? 'person' : (names.get(end) ?? end);

/** Messages that did not cross, with the reason. */
const addDeadLetters = (frame: Frame, from: CrossingEnd, value: unknown, state: State): readonly MutableReport[] => {
  const { id, dead = [] } = (value ?? {}) as { id?: string; dead?: readonly (DeadLetter & { id?: string })[] };
  return dead.map((one): MutableReport => {
    const letter: MutableReport = {
      ...blank,
      id: one.id ?? id ?? '',
      message_type: one.type ?? 'message',
      topic: one.topic ?? null,
      correlation_id: one.correlation ?? null,
      from,
      to: null,
      agent_id: from === 'outside' ? null : endName(from, state),
      recipient_id: one.to,
      bytes: 0,
      sha256: null,
      state: 'dead',
      queuedAt: frame.at,
      deadAt: frame.at,
      reason: one.reason,
    };
    state.reports?.push(letter);
    return letter;
  });
};

const markDelivered = (frame: Frame, { op, value }: RecordOf<'settle'>, state: State): readonly MutableReport[] => {
  if (!state.receives.delete(`${frame.cell}/${op}`)) return [];
  const { messages = [], expired = [] } = (value ?? {}) as Partial<ReceiveResult>;
  const expiredReports = expired.flatMap((seq) => {
    const letter = state.openReports.get(`${frame.cell}/${seq}`);
    return letter === undefined
      ? []
      : [markDead(`${frame.cell}/${seq}`, letter, { at: frame.at, reason: 'expired' }, state)];
  });
  const deliveredReports = messages.flatMap((seq) => {
    const letter = state.openReports.get(`${frame.cell}/${seq}`);
    if (letter === undefined) return [];
    letter.state = 'delivered';
    letter.deliveredAt = frame.at;
    return [letter];
  });
  return [...expiredReports, ...deliveredReports];
};

/** The result of a child that was reported to its caller by other means. */
const markReported = ({ cell, at }: Frame, value: unknown, { openReports }: State): readonly MutableReport[] =>
  ((value ?? {}) as { told?: readonly number[] }).told?.flatMap((seq) => {
    const letter = openReports.get(`${cell}/${seq}`);
    if (letter === undefined) return [];
    openReports.delete(`${cell}/${seq}`);
    return [Object.assign(letter, { state: 'read', deliveredAt: at, readAt: at } as const)];
  }) ?? [];

/** Nothing more is recorded about messages to the outside: the runtime cannot know whether a person has read them. */
const markHandedOut = (
  { at }: Frame,
  messages: readonly string[],
  { openReports, openToOutside }: State,
): readonly MutableReport[] => {
  const open = messages.flatMap((id) => openToOutside.get(id) ?? []).toSorted((one, other) => one.nth - other.nth);
  for (const id of messages) openToOutside.delete(id);
  return open.flatMap(({ key }) => {
    const letter = openReports.get(key);
    if (letter === undefined) return [];
    openReports.delete(key);
    return [Object.assign(letter, { state: 'delivered', deliveredAt: at } as const)];
  });
};

/** A message counts as read when a request shows it. */
const markRead = ({ cell, at, attempt }: Frame, state: State): readonly MutableReport[] => {
  if (attempt === undefined || state.openReports.size === 0) return [];
  const sources = attempt.changes.flatMap((change): readonly Source[] => {
    if ('add' in change) return change.add.flatMap(({ origin }) => origin.of);
    return 'by' in change ? change.by.origin.of : [];
  });
  return sources.flatMap((source) => {
    const key = source.from === 'crossing' ? `${cell}/${source.seq}` : '';
    const letter = state.openReports.get(key);
    if (letter === undefined) return [];
    state.openReports.delete(key);
    letter.state = 'read';
    letter.deliveredAt ??= at;
    letter.readAt = at;
    return [letter];
  });
};

/** Messages left in the mailbox of an ended cell will not be read. */
const markUnreadDead = ({ cell, record, at }: Frame, state: State): readonly MutableReport[] => {
  const endedCell = record.type === 'close' ? cell : record.type === 'settle' ? record.ended?.cell : undefined;
  if (endedCell === undefined) return [];
  return state.openReports
    .toward(endedCell)
    .map(([key, letter]) => markDead(key, letter, { at, reason: 'ended' }, state));
};

type DeadLetterState = { readonly at: number; readonly reason: DeadReason };

const markDead = (
  key: string,
  letter: MutableReport,
  { at, reason }: DeadLetterState,
  { openReports }: State,
): MutableReport => {
  openReports.delete(key);
  letter.state = 'dead';
  letter.deadAt = at;
  letter.reason = reason;
  return letter;
};

/** Collects every message of a run, in log order. */
export const collectMail = () => {
  const reports: MutableReport[] = [];
  const state = startState(reports);
  return {
    next: (frame: Frame): void => void changes(frame, state),
    all: (): readonly MailReport[] => reports,
  };
};

/** Every message of a run, in log order. */
export const readRunMail = (frames: readonly Frame[]): readonly MailReport[] => {
  const mail = collectMail();
  for (const frame of frames) mail.next(frame);
  return mail.all();
};
