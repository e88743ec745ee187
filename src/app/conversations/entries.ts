// The entries of a conversation: what was asked, given and answered, as the logs of its turns have it.
import { decodeMessage } from '#base';
import type { CrossingContent, Entry, Frame, History, Mail } from '#contracts';

/** Of one run, or of its first frames: numbered in the order of its log. */
export const entriesOfRun = (frames: readonly Frame[]): readonly Entry[] => {
  const [first] = frames;
  if (first?.record.type !== 'open') return [];
  const { run } = first;
  const { cell, agent, spawned } = first.record.birth;
  const entries: Entry[] = [];
  const add = (entry: Omit<Entry, 'id' | 'correlation'>): void =>
    void entries.push({ id: `${run}/${entries.length + 1}`, correlation: run, ...entry });
  for (const frame of frames) {
    const { at, record, contents = [] } = frame;
    const asked = { agent_id: 'person', recipient_id: agent, message_type: 'message', at } as const;
    const heard = contents.filter((one) => one.cell === cell && one.from === 'outside');
    for (const { kind, content } of heard)
      if (kind === 'history') for (const text of givenIn(content)) add({ ...asked, category: 'CONTEXT', text });
    for (const { kind, content } of heard) if (kind === 'goal') add({ ...asked, category: 'DIALOG', text: content });
    for (const { kind, content } of heard)
      if (kind === 'message') add({ ...asked, category: 'DIALOG', text: mailIn(content).text });
    const answered = { agent_id: agent, recipient_id: 'person', message_type: 'result', at } as const;
    for (const text of answersIn(frame, cell)) add({ ...answered, category: 'DIALOG', text });
    // Who lives over many messages has answered each of them before it ends.
    if (record.type !== 'close' || record.outcome.output === '' || spawned !== undefined) continue;
    add({ ...answered, category: 'DIALOG', text: record.outcome.output });
  }
  return entries;
};

/** What a session answers to the person; of work that failed there is no answer. */
const answersIn = ({ record, cell, contents = [] }: Frame, root: string): readonly string[] => {
  if (record.type !== 'post' || record.name !== 'mail:answer' || cell !== root) return [];
  const status = record.about?.['status'];
  if (status !== 'completed' && status !== 'partial') return [];
  const said = ({ kind, to }: CrossingContent): boolean => kind === 'message' && to === 'outside';
  return contents.filter(said).map(({ content }) => mailIn(content).text);
};

const mailIn = (content: string): Mail => decodeMessage(content) as Mail;

/** What was given then and there: a history of no conversation, or the end of one. */
const givenIn = (content: string): readonly string[] => {
  const { conversation, entries, given = conversation === '' ? entries.length : 0 } = JSON.parse(content) as History;
  return entries.slice(entries.length - given).map(({ text }) => text);
};

/**
 * What a branch began with, then its turns: in order of time, but in the order of the book where that is known, whatever the
 * clock on the wall did. An agent takes one turn after the other, and no turn begins before an earlier one.
 */
export const inOrder = (kept: readonly Entry[], turns: readonly (readonly Entry[])[]): readonly Entry[] => {
  const ends = new Map<string, number>();
  let begun = 0;
  const placed = turns.flatMap((entries) => {
    const [first] = entries;
    if (first === undefined) return [];
    // probe: turn-earliest-time
    const least = Math.max(begun, ends.get(agentIn(first)) ?? 0);
    const turn = entries.map((entry) => ({ entry, at: Math.max(entry.at, least) }));
    begun = turn[0]!.at;
    ends.set(agentIn(first), turn.at(-1)!.at);
    return turn;
  });
  return [...kept, ...placed.toSorted((one, other) => one.at - other.at).map(({ entry }) => entry)];
};

/** Whose turn it is of. */
const agentIn = ({ message_type: type, agent_id: from, recipient_id: to }: Entry): string =>
  type === 'message' ? to : from;

/** What was said in several turns, turn by turn, in the order in which they began. */
export const byTurn = (entries: readonly Entry[]): readonly (readonly Entry[])[] => [
  ...Map.groupBy(entries, ({ correlation }) => correlation).values(),
];
