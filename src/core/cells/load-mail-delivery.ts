// The post of a run as its log leaves it: who lives, who hears what, and what is not delivered yet.
import type { CellId, Hash } from '#base';
import type { Birth, AgentDefinition, Frame, ReceiveResult } from '#contracts';
import { Directory } from '#core/bus';
import { queuedMessageOf, messagesDefault } from './mail-delivery.ts';

export const loadMailDelivery = (frames: readonly Frame[]): Directory => {
  const directory = new Directory();
  const definitions = new Map<Hash, AgentDefinition>();
  const receives = new Set<string>();
  for (const frame of frames) {
    const { record, cell } = frame;
    for (const { digest, definition } of frame.definitions ?? []) definitions.set(digest, definition);
    if (record.type === 'open' || record.type === 'begin')
      if (record.birth !== undefined) enlist(directory, record.birth, definitions.get(record.birth.digest), frame.at);
    // probe: post-load-receive
    if (record.type === 'begin' && record.do === 'receive') receives.add(`${cell}/${record.op}`);
    // What is given, at birth or later, is in view and not in a box.
    if (record.type !== 'give' && record.type !== 'begin') deliver(directory, frame);
    if (record.type === 'settle' && record.ended !== undefined) end(directory, frame, record.ended.cell);
    if (record.type === 'settle' && receives.has(`${cell}/${record.op}`)) {
      const { messages = [], expired = [] } = (record.value ?? {}) as Partial<ReceiveResult>;
      directory.get(cell)?.box.remove([...messages, ...expired]);
    }
    if (record.type === 'post' && record.ok) repost(directory, cell, record.value as Posted | null);
  }
  return directory;
};

/** What a post leaves behind besides what crossed. */
type Posted = {
  readonly subscribed?: string;
  readonly asked?: readonly CellId[];
  readonly told?: readonly number[];
};

const repost = (directory: Directory, cell: CellId, value: Posted | null): void => {
  if (typeof value !== 'object' || value === null) return;
  const member = directory.get(cell);
  // probe: post-load-subscription
  if (value.subscribed !== undefined && member !== undefined) directory.subscribe(member, value.subscribed);
  if (value.told !== undefined) member?.box.remove(value.told);
  for (const asked of value.asked ?? []) directory.get(asked)?.box.close();
};

const enlist = (directory: Directory, birth: Birth, definition: AgentDefinition | undefined, bornAt: number): void => {
  const { cell, parent, agent, spawned = null } = birth;
  if (spawned === null && definition?.messages === undefined) return;
  const messages = definition?.messages ?? messagesDefault;
  const topics = definition?.topics ?? { hear: [], say: [] };
  const forwards = definition?.team?.messages;
  directory.add({ cell, parent, agent, name: spawned?.name ?? agent, spawned, messages, topics, bornAt, forwards });
};

const deliver = (directory: Directory, { contents = [] }: Frame): void => {
  for (const content of contents) {
    const letter = queuedMessageOf(content);
    // probe: post-load-letter
    if (letter !== null) directory.get(content.cell)?.box.put(letter);
  }
};

/** A child that nobody waited for tells its end to its caller's box. */
const end = (directory: Directory, { cell, record, contents = [] }: Frame, ended: CellId): void => {
  const was = directory.get(ended)?.spawned;
  directory.remove(ended);
  const result = contents.find(({ kind, from, to }) => kind === 'result' && from === ended && to === cell);
  if (was === undefined || was === null || result === undefined || record.type !== 'settle') return;
  directory.get(cell)?.box.put({ seq: result.seq, kind: 'result', from: ended, topic: null, bytes: 0 });
};
