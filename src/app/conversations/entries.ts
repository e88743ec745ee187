// The entries of a conversation: requests, context and answers, from the logs of its turns.
import type { RunId } from '#base';
import { decodeHistory, decodeMail, goalAttachments } from '#contracts';
import type { CrossingContent, Entry, Frame, HistoryEntry, Checkpoint } from '#contracts';
import { shownCalls } from '#core/audit';

/** An entry, or a tool call, which only the agent that made it gets again. */
export type TurnEntry = Omit<Entry, 'category'> & Pick<HistoryEntry, 'category' | 'call'>;

/** What people and other agents see of a conversation. */
export const isPublic = (entry: TurnEntry): entry is Entry => entry.category !== 'TOOLS';

/** The entries of a run, or of its first frames, in the order of its log. Public ones are numbered. */
export const entriesOfRun = (frames: readonly Frame[]): readonly TurnEntry[] => {
  const [first] = frames;
  if (first?.record.type !== 'open') return [];
  const { run } = first;
  const { cell, agent, spawned } = first.record.birth;
  const entries: TurnEntry[] = [];
  let count = 0;
  const add = (entry: Omit<TurnEntry, 'id' | 'correlation'>): void =>
    void entries.push({ id: `${run}/${entry.category === 'TOOLS' ? '' : ++count}`, correlation: run, ...entry });
  const calls = shownCalls(frames);
  for (const frame of frames) {
    const { at, record, contents = [] } = frame;
    const request = { agent_id: 'person', recipient_id: agent, message_type: 'message', at } as const;
    const received = contents.filter((one) => one.cell === cell && one.from === 'outside');
    for (const { kind, content } of received)
      if (kind === 'history') for (const text of givenContext(content)) add({ ...request, category: 'CONTEXT', text });
    for (const { kind, content } of received)
      if (kind === 'goal') add({ ...request, category: 'DIALOG', text: content, ...attachedTo(received) });
    for (const { kind, content } of received)
      if (kind === 'message') add({ ...request, category: 'DIALOG', text: decodeMail(content).text });
    const called = { agent_id: agent, recipient_id: agent, message_type: 'result', category: 'TOOLS', at } as const;
    for (const call of calls.get(frame.no) ?? []) add({ ...called, ...call });
    const answer = { agent_id: agent, recipient_id: 'person', message_type: 'result', at } as const;
    for (const text of findAnswers(frame, cell)) add({ ...answer, category: 'DIALOG', text });
    // A resident has already answered each message before it ends.
    if (record.type !== 'close' || record.outcome.output === '' || spawned !== undefined) continue;
    add({ ...answer, category: 'DIALOG', text: record.outcome.output });
  }
  return entries;
};

const attachedTo = (received: readonly CrossingContent[]): Pick<Entry, 'attachments'> => {
  const files = goalAttachments(received);
  return files.length === 0 ? {} : { attachments: files };
};

/** The session's answers to the person; failed work has none. */
const findAnswers = ({ record, cell, contents = [] }: Frame, root: string): readonly string[] => {
  if (record.type !== 'post' || record.name !== 'mail:answer' || cell !== root) return [];
  const status = record.about?.['status'];
  if (status !== 'completed' && status !== 'partial') return [];
  const isAnswer = ({ kind, to }: CrossingContent): boolean => kind === 'message' && to === 'outside';
  return contents.filter(isAnswer).map(({ content }) => decodeMail(content).text);
};

/** Context added to this run: the whole history outside a conversation, otherwise its last entries. */
const givenContext = (content: string): readonly string[] => {
  const { conversation, entries, given = conversation === '' ? entries.length : 0 } = decodeHistory(content);
  return entries.slice(entries.length - given).map(({ text }) => text);
};

/**
 * The entries that a branch started with, then those of its turns, sorted by time. Where the workspace log determines the order,
 * it overrides the clock: an agent takes one turn after the other, and no turn begins before an earlier one.
 */
export const orderEntries = (
  initial: readonly TurnEntry[],
  turns: readonly (readonly TurnEntry[])[],
): readonly TurnEntry[] => {
  const ends = new Map<string, number>();
  let begun = 0;
  const timed = turns.flatMap((entries) => {
    const [first] = entries;
    if (first === undefined) return [];
    // probe: turn-earliest-time
    const least = Math.max(begun, ends.get(turnAgent(first)) ?? 0);
    const turn = entries.map((entry) => ({ entry, at: Math.max(entry.at, least) }));
    begun = turn[0]!.at;
    ends.set(turnAgent(first), turn.at(-1)!.at);
    return turn;
  });
  return [...initial, ...timed.toSorted((one, other) => one.at - other.at).map(({ entry }) => entry)];
};

/** The agent whose turn the entry belongs to. */
const turnAgent = ({ message_type: type, agent_id: from, recipient_id: to }: TurnEntry): string =>
  type === 'message' ? to : from;

/** Groups entries by turn, in the order in which the turns began. */
export const groupByTurn = (entries: readonly TurnEntry[]): readonly (readonly TurnEntry[])[] => [
  ...Map.groupBy(entries, ({ correlation }) => correlation).values(),
];

// The turns of a conversation as a linked list: each refers to the previous one, so that chains share a common start.
export type TurnNode = {
  readonly run: RunId;
  readonly agent: string;
  readonly at: number;
  readonly previous: TurnNode | null;
  /** The checkpoint that its run continues from, if any. */
  readonly from: Checkpoint | null;
  /** How many frames count; null: all of them. */
  readonly frames: number | null;
};

/** The turns up to the newest, oldest first. */
export const listTurns = ({ newest }: { readonly newest: TurnNode | null }): readonly TurnNode[] => {
  const turns: TurnNode[] = [];
  for (let node = newest; node !== null; node = node.previous) turns.push(node);
  return turns.toReversed();
};

/** Links these turns in this order and returns the newest. */
export const linkTurns = (turns: readonly TurnNode[]): TurnNode | null =>
  turns.reduce<TurnNode | null>((previous, turn) => (turn.previous === previous ? turn : { ...turn, previous }), null);

/**
 * The turns that counted when a checkpoint of one of them was taken, each as far as it had progressed. `newest`: the newest turn
 * of the conversation at that time. For a turn that no longer counted, the turns up to it.
 */
export const turnsAt = (
  { run, frames, newest: last, others = [] }: Checkpoint,
  node: TurnNode,
  newest: TurnNode | null,
): readonly TurnNode[] => {
  const chain = chainWith(node, newest);
  const end = chain.findIndex((turn) => turn.run === last);
  const turns = end < 0 ? chain : chain.slice(0, end + 1);
  const reached = new Map(others.map((one) => [one.run, one.frames]));
  return turns.flatMap((turn) => {
    if (turn.run === run) return [{ ...turn, frames }];
    const most = reached.get(turn.run);
    if (most === undefined) return [turn];
    // A turn without any entry at that time does not count.
    return most === 0 && turn.from === null ? [] : [{ ...turn, frames: Math.min(most, turn.frames ?? most) }];
  });
};

/** The turns up to the newest; if this turn no longer counts, the turns up to it. */
export const chainWith = (node: TurnNode, newest: TurnNode | null): readonly TurnNode[] => {
  const chain = listTurns({ newest });
  return chain.some(({ run }) => run === node.run) ? chain : listTurns({ newest: node });
};

/** The chain after a restore: the checkpoint's own turn in full, or the run that replaces it; the others as they were. */
export const restoredChain = (turns: readonly TurnNode[], run: RunId, own: Partial<TurnNode>): TurnNode | null =>
  linkTurns(turns.map((turn) => (turn.run === run ? { ...turn, frames: null, ...own } : turn)));

export const isSameChain = (one: TurnNode | null, other: TurnNode | null): boolean => {
  let [left, right] = [one, other];
  while (left !== right) {
    if (left?.run !== right?.run || left?.frames !== right?.frames) return false;
    [left, right] = [left?.previous ?? null, right?.previous ?? null];
  }
  return true;
};
