// Rebuilds a run's mail directory from its log: live members, subscriptions, and unread messages.
import type { CellId, Hash } from '#base';
import type { Birth, AgentDefinition, Crossed, Frame, ReceiveResult } from '#contracts';
import { Directory, isMessage } from '#core/bus';
import type { CheckCrossed, Deliveries } from '#core/bus';
import { messagesDefault } from '#core/crossings';

export const loadMailDirectory = (
  frames: readonly Frame<Crossed>[],
  door: CheckCrossed,
  deliveries?: Deliveries,
): Directory => {
  const directory = new Directory(door, deliveries);
  const definitions = new Map<Hash, AgentDefinition>();
  const receives = new Set<string>();
  for (const frame of frames) {
    const { record, cell } = frame;
    for (const { digest, definition } of frame.definitions ?? []) definitions.set(digest, definition);
    if (record.type === 'open' || record.type === 'begin')
      if (record.birth !== undefined) register(directory, record.birth, definitions.get(record.birth.digest), frame.at);
    // probe: post-load-receive
    if (record.type === 'begin' && record.do === 'receive') receives.add(`${cell}/${record.op}`);
    // Context that is added, at creation or later, goes into the window, not into a mailbox.
    if (record.type !== 'give' && record.type !== 'begin') deliver(directory, frame);
    if (record.type === 'settle' && record.ended !== undefined) removeEnded(directory, frame, record.ended.cell);
    if (record.type === 'settle' && receives.has(`${cell}/${record.op}`)) {
      const { messages = [], expired = [] } = (record.value ?? {}) as Partial<ReceiveResult>;
      directory.get(cell)?.mailbox.remove([...messages, ...expired]);
    }
    if (record.type === 'post' && record.ok) applyPost(directory, cell, record.value as PostValue | null);
  }
  return directory;
};

/** What a post operation changed besides its crossings. */
type PostValue = {
  readonly subscribed?: string;
  /** Cells that were asked to finish. */
  readonly asked?: readonly CellId[];
  /** Child results that the post reported, so they are no longer mail. */
  readonly told?: readonly number[];
};

const applyPost = (directory: Directory, cell: CellId, value: PostValue | null): void => {
  if (typeof value !== 'object' || value === null) return;
  const member = directory.get(cell);
  // probe: post-load-subscription
  if (value.subscribed !== undefined && member !== undefined) directory.subscribe(member, value.subscribed);
  if (value.told !== undefined) member?.mailbox.remove(value.told);
  for (const cellId of value.asked ?? []) directory.get(cellId)?.mailbox.close();
};

const register = (
  directory: Directory,
  birth: Birth,
  definition: AgentDefinition | undefined,
  createdAt: number,
): void => {
  const { cell, parent, agent, spawned = null, task: part = null } = birth;
  if (spawned === null && definition?.messages === undefined) return;
  const messages = definition?.messages ?? messagesDefault;
  const topics = definition?.topics ?? { hear: [], say: [] };
  const forwards = definition?.team?.messages;
  directory.add({
    cell,
    parent,
    agent,
    name: spawned?.name ?? agent,
    spawned,
    messages,
    topics,
    createdAt,
    part,
    forwards,
  });
};

const deliver = (directory: Directory, { contents = [] }: Frame<Crossed>): void => {
  for (const crossed of contents) {
    // probe: post-load-letter
    if (isMessage(crossed)) directory.get(crossed.cell)?.mailbox.put(crossed);
  }
};

/** The end of a spawned child, which nobody waits for, goes to its caller's mailbox. */
const removeEnded = (directory: Directory, { cell, record, contents = [] }: Frame<Crossed>, ended: CellId): void => {
  const spawned = directory.get(ended)?.spawned;
  directory.remove(ended);
  const isResult = (one: Crossed): one is Crossed<'result'> =>
    one.kind === 'result' && one.from === ended && one.to === cell;
  const result = contents.find(isResult);
  if (spawned === undefined || spawned === null || result === undefined || record.type !== 'settle') return;
  directory.get(cell)?.mailbox.put(result);
};
