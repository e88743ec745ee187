// Every message of a run with its states: queued, delivered, read, or dead with the reason. Read from frames alone.
import { decodeMessage, sha256, utf8Bytes } from '#base';
import type { CellId } from '#base';
import type {
  CrossingContent,
  DeadLetter,
  DeadReason,
  CrossingEnd,
  Envelope,
  Frame,
  FrameRecord,
  Mail,
  MailReport,
  ReceiveResult,
  RoutedMessages,
  Source,
} from '#contracts';

type Letter = { -readonly [K in keyof MailReport]: MailReport[K] };

export type MailFold = {
  /** What changed with this frame, as it stands then. */
  next(frame: Frame): readonly MailReport[];
  /** All of it, in the order of the log. */
  all(): readonly MailReport[];
};

export const followMail = (): MailFold => {
  const state: State = { letters: [], open: new Map(), names: new Map(), spawned: new Set(), receives: new Set() };
  return {
    next: (frame) => changes(frame, state).map((letter) => ({ ...letter })),
    all: () => state.letters,
  };
};

type State = {
  readonly letters: Letter[];
  /** By the cell and the number in its ledger: those that are neither read nor dead. */
  readonly open: Map<string, Letter>;
  readonly names: Map<CellId, string>;
  readonly spawned: Set<CellId>;
  readonly receives: Set<string>;
};

const changes = (frame: Frame, state: State): readonly Letter[] => {
  const { record, cell } = frame;
  if ((record.type === 'open' || record.type === 'begin') && record.birth !== undefined) {
    const { birth } = record;
    state.names.set(birth.cell, birth.spawned?.name ?? birth.agent);
    if (birth.spawned !== undefined && birth.parent !== null) state.spawned.add(birth.cell);
  }
  if (record.type === 'begin' && record.do === 'receive') state.receives.add(`${cell}/${record.op}`);
  return [
    ...read(frame, state),
    ...(frame.contents ?? []).flatMap((content) => queued(frame, content, state)),
    ...(record.type === 'post' ? undelivered(frame, frame.cell, record.value, state) : []),
    ...(record.type === 'mail' && record.dead ? undelivered(frame, 'outside', { dead: [record.dead] }, state) : []),
    ...(record.type === 'post' ? told(frame, record.value, state) : []),
    ...(record.type === 'settle' ? delivered(frame, record, state) : []),
    ...ended(frame, state),
  ];
};

const queued = (frame: Frame, content: CrossingContent, state: State): readonly Letter[] => {
  if (frame.record.type === 'begin' && content.kind === 'message') return handedOn(frame, content, state);
  const letter = letterOf(frame, content, state);
  if (letter === null) return [];
  state.letters.push(letter);
  if (letter.state === 'queued') state.open.set(`${content.cell}/${content.seq}`, letter);
  return [letter];
};

/** A team hands a letter to the task that it is for: then that letter is read. */
const handedOn = ({ at }: Frame, { from, content }: CrossingContent, { open }: State): readonly Letter[] => {
  const { id } = decodeMessage(content) as Mail;
  for (const [key, letter] of open) {
    if (letter.id !== id || letter.to !== from) continue;
    open.delete(key);
    return [Object.assign(letter, { state: 'read', deliveredAt: letter.deliveredAt ?? at, readAt: at } as const)];
  }
  return [];
};

const blank = {
  topic: null,
  correlation_id: null,
  hops: 0,
  state: 'queued',
  deliveredAt: null,
  readAt: null,
  deadAt: null,
  reason: null,
} as const;

const letterOf = (frame: Frame, crossed: CrossingContent, state: State): Letter | null => {
  const { kind, from, to, content } = crossed;
  const sizes = { bytes: utf8Bytes(content), sha256: sha256(content), queuedAt: frame.at };
  // What goes outside has arrived: nobody there says more about it.
  const arrived = to === 'outside' ? ({ state: 'delivered', deliveredAt: frame.at } as const) : {};
  if (kind === 'message' && frame.record.type === 'give') {
    const { agent_id: sender, recipient_id: recipient } = JSON.parse(content) as RoutedMessages;
    return {
      ...blank,
      ...sizes,
      id: idOf(crossed),
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
      hops,
    } = decodeMessage(content) as Mail;
    return {
      ...blank,
      ...sizes,
      ...arrived,
      id,
      message_type: type,
      from,
      to,
      agent_id: sender,
      recipient_id: recipient,
      topic: topic ?? null,
      correlation_id: correlation,
      hops,
    };
  }
  if (kind !== 'result' || from === 'outside' || !state.spawned.has(from)) return null;
  const { agent_id: sender } = JSON.parse(content) as Envelope;
  return {
    ...blank,
    ...sizes,
    id: idOf(crossed),
    message_type: 'result',
    from,
    to,
    agent_id: sender ?? null,
    recipient_id: nameOf(to, state),
  };
};

const idOf = ({ cell, seq }: CrossingContent): string => `m-${sha256(`${cell} entry ${seq}`).slice(0, 12)}`;

const nameOf = (end: CrossingEnd, { names }: State): string => (end === 'outside' ? 'person' : (names.get(end) ?? end));

/** What did not cross, and why. */
const undelivered = (frame: Frame, from: CrossingEnd, value: unknown, state: State): readonly Letter[] => {
  const { id, dead = [] } = (value ?? {}) as { id?: string; dead?: readonly (DeadLetter & { id?: string })[] };
  return dead.map((one): Letter => {
    const letter: Letter = {
      ...blank,
      id: one.id ?? id ?? '',
      message_type: one.type ?? 'message',
      topic: one.topic ?? null,
      correlation_id: one.correlation ?? null,
      from,
      to: null,
      agent_id: from === 'outside' ? null : nameOf(from, state),
      recipient_id: one.to,
      bytes: 0,
      sha256: null,
      state: 'dead',
      queuedAt: frame.at,
      deadAt: frame.at,
      reason: one.reason,
    };
    state.letters.push(letter);
    return letter;
  });
};

const delivered = (
  frame: Frame,
  { op, value }: Extract<FrameRecord, { type: 'settle' }>,
  state: State,
): readonly Letter[] => {
  if (!state.receives.delete(`${frame.cell}/${op}`)) return [];
  const { messages = [], expired = [] } = (value ?? {}) as Partial<ReceiveResult>;
  const late = expired.flatMap((seq) => {
    const letter = state.open.get(`${frame.cell}/${seq}`);
    return letter === undefined
      ? []
      : [buried(`${frame.cell}/${seq}`, letter, { at: frame.at, reason: 'expired' }, state)];
  });
  const found = messages.flatMap((seq) => {
    const letter = state.open.get(`${frame.cell}/${seq}`);
    if (letter === undefined) return [];
    letter.state = 'delivered';
    letter.deliveredAt = frame.at;
    return [letter];
  });
  return [...late, ...found];
};

/** The end of a child that its caller was told of otherwise. */
const told = ({ cell, at }: Frame, value: unknown, { open }: State): readonly Letter[] =>
  ((value ?? {}) as { told?: readonly number[] }).told?.flatMap((seq) => {
    const letter = open.get(`${cell}/${seq}`);
    if (letter === undefined) return [];
    open.delete(`${cell}/${seq}`);
    return [Object.assign(letter, { state: 'read', deliveredAt: at, readAt: at } as const)];
  }) ?? [];

/** A message is read when a request shows it. */
const read = ({ cell, at, attempt }: Frame, state: State): readonly Letter[] => {
  if (attempt === undefined || state.open.size === 0) return [];
  const sources = attempt.changes.flatMap((change): readonly Source[] => {
    if ('add' in change) return change.add.flatMap(({ origin }) => origin.of);
    return 'by' in change ? change.by.origin.of : [];
  });
  return sources.flatMap((source) => {
    const key = source.from === 'crossing' ? `${cell}/${source.seq}` : '';
    const letter = state.open.get(key);
    if (letter === undefined) return [];
    state.open.delete(key);
    letter.state = 'read';
    letter.deliveredAt ??= at;
    letter.readAt = at;
    return [letter];
  });
};

/** What lies in the box of a cell that has ended will not be read. */
const ended = ({ cell, record, at }: Frame, state: State): readonly Letter[] => {
  const over = record.type === 'close' ? cell : record.type === 'settle' ? record.ended?.cell : undefined;
  if (over === undefined) return [];
  return [...state.open].flatMap(([key, letter]) =>
    letter.to === over ? [buried(key, letter, { at, reason: 'ended' }, state)] : [],
  );
};

type DeadLetterState = { readonly at: number; readonly reason: DeadReason };

const buried = (key: string, letter: Letter, { at, reason }: DeadLetterState, { open }: State): Letter => {
  open.delete(key);
  letter.state = 'dead';
  letter.deadAt = at;
  letter.reason = reason;
  return letter;
};

/** Every message of a run. */
export const mailIn = (frames: readonly Frame[]): readonly MailReport[] => {
  const fold = followMail();
  for (const frame of frames) fold.next(frame);
  return fold.all();
};
