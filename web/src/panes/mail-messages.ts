// The messages of a run, each with those who were to read it.
import type { CrossingEnd, DeadReason, MailState } from '#contracts';
import { cellName, count, plural } from '#headends/run-view';
import type { CellView, CrossingView, MailView, RunView } from '#headends/run-view';

export type MailMessage = {
  readonly id: string;
  readonly kind: MailView['kind'] | 'goal';
  readonly at: number;
  readonly from: CrossingEnd;
  readonly sender: string;
  readonly topic: string | null;
  readonly correlation: string | null;
  /** Null: it is in its crossing. */
  readonly text: string | null;
  /** The first one with which it left its sender's room; null: none. */
  readonly crossing: CrossingView | null;
  readonly readers: readonly MailReader[];
  /** What the sender's model was shown and said since its last message; null: no request. */
  readonly tokens: { readonly input: number; readonly output: number } | null;
};

export type MailReader = {
  /** Null: nobody has that name. */
  readonly to: CrossingEnd | null;
  readonly name: string;
  readonly state: MailState;
  readonly reason: DeadReason | null;
  readonly bytes: number | null;
  readonly deliveredAt: number | null;
  readonly readAt: number | null;
};

export type MailColumn = { readonly id: CrossingEnd; readonly name: string; readonly cell: CellView | null };

export const endName = (view: RunView, end: CrossingEnd | null, name: string | null): string => {
  if (end === 'outside') return 'you';
  const cell = end === null ? undefined : view.cells.get(end);
  return cell === undefined ? (name ?? 'you') : cellName(view, cell.agent, cell.agent, cell.cell);
};

/** In the order in which they were sent, with the goal before them and the last answer to the person, `output`, after them. */
export const mailMessages = (view: RunView, output: string | null = null): readonly MailMessage[] => {
  if (view.mail.size === 0) return [];
  const crossings = new Map(view.crossings.map((one) => [crossingKey(one.from, one.to, one.at), one]));
  const groups = Map.groupBy(view.mail.values(), ({ message }) => message);
  const sent = [...groups].map(([id, copies]) => {
    const [first] = copies as [MailView];
    const { kind, from, topic, correlation, text, states } = first;
    const crossed = copies.map((copy) => crossings.get(crossingKey(copy.from, copy.to, copy.states[0]!.at)));
    return {
      id,
      kind,
      at: states[0]!.at,
      from,
      sender: endName(view, from, first.sender),
      topic,
      correlation,
      text,
      crossing: crossed.find((one) => one?.refused === null) ?? null,
      readers: copies.map((copy, at) => readerOf(view, copy, crossed[at])),
    };
  });
  const all = [...goalOf(view), ...sent, ...answerOf(view, output)].sort((one, other) => one.at - other.at);
  const tokens = tokenCounter(view);
  return all.map((message) => ({ ...message, tokens: tokens(message) }));
};

type Untold = Omit<MailMessage, 'tokens'>;

/** A message and its crossing have the same ends and the same time. */
const crossingKey = (from: CrossingEnd, to: CrossingEnd | null, at: number): string => `${from} ${to} ${at}`;

/** A message crosses after a line of JSON about it; a result, as JSON. */
export const textOfCrossing = (kind: MailMessage['kind'], content: string): string => {
  if (kind !== 'result') return content.slice(content.indexOf('\n') + 1);
  try {
    return (JSON.parse(content) as { output?: string }).output ?? '';
  } catch {
    return content;
  }
};

const readerOf = (
  view: RunView,
  { to, recipient, states }: MailView,
  crossing: CrossingView | undefined,
): MailReader => {
  const latest = states.at(-1)!;
  const timeOf = (state: MailState): number | null => states.find((one) => one.state === state)?.at ?? null;
  return {
    to,
    name: endName(view, to, recipient),
    state: latest.state,
    reason: latest.reason,
    bytes: crossing?.bytes ?? null,
    deliveredAt: timeOf('delivered'),
    readAt: timeOf('read'),
  };
};

const plainMessage = { topic: null, correlation: null, crossing: null };

const goalOf = (view: RunView): readonly Untold[] => {
  const root = view.cells.values().next().value;
  const goal = view.crossings.find(({ kind, from, refused }) => kind === 'goal' && from === 'outside' && !refused);
  if (root === undefined || goal === undefined) return [];
  const { id, at, bytes } = goal;
  const readAt = root.requests[0]?.startedAt ?? null;
  const reader = { to: root.cell, name: root.agent, reason: null, bytes, deliveredAt: at, readAt };
  const readers = [{ ...reader, state: readAt === null ? ('delivered' as const) : ('read' as const) }];
  return [{ ...plainMessage, id, kind: 'goal', at, from: 'outside', sender: 'you', text: root.goal, readers }];
};

/** A long-lived agent answers by mail; any other one, with its result. */
const answerOf = (view: RunView, text: string | null): readonly Untold[] => {
  const hasAnswered = [...view.mail.values()].some(({ kind, to }) => kind === 'answer' && to === 'outside');
  const last = view.crossings.findLast(({ kind, to, refused }) => kind === 'result' && to === 'outside' && !refused);
  if (hasAnswered || last === undefined) return [];
  const { id, at, from, bytes } = last;
  const reader = { to: 'outside' as const, name: 'you', reason: null, bytes, deliveredAt: at, readAt: null };
  const readers = [{ ...reader, state: 'delivered' as const }];
  return [{ ...plainMessage, id, kind: 'answer', at, from, sender: endName(view, from, null), text, readers }];
};

const tokenCounter = ({ cells }: RunView): ((message: Untold) => MailMessage['tokens']) => {
  const counted = new Map<CrossingEnd, number>();
  return ({ from, at }) => {
    const requests = from === 'outside' ? [] : (cells.get(from)?.requests ?? []);
    let [next, input, output] = [counted.get(from) ?? 0, 0, 0];
    const first = next;
    for (; next < requests.length && (requests[next]!.endedAt ?? Infinity) <= at; next++) {
      input += requests[next]!.inputTokens;
      output += requests[next]!.outputTokens;
    }
    counted.set(from, next);
    return next === first ? null : { input, output };
  };
};

/** The person first, then every room that sent or was sent something, in the order of their starts. */
export const mailColumns = (view: RunView, messages: readonly MailMessage[]): readonly MailColumn[] => {
  const taking = new Set(messages.flatMap(({ from, readers }) => [from, ...readers.map(({ to }) => to)]));
  const rooms = [...view.cells.values()].filter(({ cell }) => taking.has(cell));
  return [
    ...(taking.has('outside') ? [{ id: 'outside' as const, name: 'you', cell: null }] : []),
    ...rooms.map((cell) => ({ id: cell.cell, name: endName(view, cell.cell, null), cell })),
  ];
};

/** `14 messages to 30 readers.` and `25 read, 2 delivered to you, 3 dead.` What is not mail, the goal, is not counted. */
export const mailSentence = (messages: readonly MailMessage[]): readonly [string, string] => {
  const mail = messages.filter(({ kind }) => kind !== 'goal');
  const readers = mail.flatMap((message) => message.readers);
  const tell = (state: MailState, isYou: boolean | null, words: string): readonly string[] => {
    const many = readers.filter((one) => one.state === state && (isYou === null || (one.to === 'outside') === isYou));
    return many.length === 0 ? [] : [`${count(many.length)} ${words}`];
  };
  const states = [
    ...tell('read', null, 'read'),
    ...tell('delivered', true, 'delivered to you'),
    ...tell('delivered', false, 'delivered'),
    ...tell('queued', null, 'queued'),
    ...tell('dead', null, 'dead'),
  ];
  return [
    `${plural(mail.length, 'message')} to ${plural(readers.length, 'reader')}.`,
    states.length === 0 ? '' : `${states.join(', ')}.`,
  ];
};

export const deadWords: Readonly<Record<DeadReason, string>> = {
  ended: 'had ended',
  expired: 'expired unread',
  refused: 'refused, no grant',
  overflow: 'mailbox full',
  unknown: 'no such agent',
};

/** Whether the person saw it: at once, by a later message that holds its text, or not. */
export const seenByPerson = (message: MailMessage, all: readonly MailMessage[]): string => {
  if (message.from === 'outside') return 'You wrote this message.';
  if (message.readers.some(({ to, state }) => to === 'outside' && state !== 'dead')) return 'You got this message.';
  const { text } = message;
  const quoting =
    text === null || text.length < 12
      ? undefined
      : all.find(
          (one) =>
            one.at >= message.at &&
            one.id !== message.id &&
            one.text?.includes(text) === true &&
            one.readers.some(({ to }) => to === 'outside'),
        );
  return quoting === undefined
    ? 'You did not see this message.'
    : `You did not see this message. You saw ${quoting.sender}’s answer, which quotes it.`;
};
