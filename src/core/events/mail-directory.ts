// Who can receive mail in a run, their subscriptions and their mailboxes: one fold over its frames, live and on resume.
//
//   mailbox-holds-what-is-logged. A mailbox holds only what is in the log: a message is put there when its frame is written,
//       in the order of frames.
import { unknownKind } from '#base';
import type { CellId, Hash, Json } from '#base';
import type { AgentDefinition, BeginKind, Birth, Crossed, Frame, ReceiveResult, RecordOf } from '#contracts';
import { isMessage } from '#core/bus';
import type { Directory } from '#core/bus';
import { messagesDefault } from '#core/crossings';

/** Whether mail can reach the cell. */
export const hasMailbox = ({ spawned }: Birth, definition: AgentDefinition | undefined): boolean =>
  spawned !== undefined || definition?.messages !== undefined;

/** The definitions in the run's log, up to the frame. */
type RunDefinitions = { definitionOf(digest: Hash): AgentDefinition | undefined };

export class MailDirectoryFold {
  readonly #directory: Directory;
  /** Receives that have not settled, by cell and operation. */
  readonly #receives = new Set<string>();

  constructor(directory: Directory) {
    this.#directory = directory;
  }

  next(frame: Frame<Crossed>, run: RunDefinitions): void {
    const { record, cell, at } = frame;
    switch (record.type) {
      case 'open':
        return addMember(this.#directory, record.birth, run.definitionOf(record.birth.digest), at);
      case 'begin':
        // probe: post-load-receive
        if (isReceive[record.do]) this.#receives.add(`${cell}/${record.op}`);
        return record.birth && addMember(this.#directory, record.birth, run.definitionOf(record.birth.digest), at);
      case 'post':
        deliver(this.#directory, frame);
        if (record.ok) applyPost(this.#directory, cell, record.value);
        return;
      case 'mail':
        return deliver(this.#directory, frame);
      case 'settle':
        if (record.ended !== undefined) removeEnded(this.#directory, frame, record.ended.cell);
        if (this.#receives.delete(`${cell}/${record.op}`)) removeReceived(this.#directory, cell, record);
        return;
      // Context that is given goes into the window, not into a mailbox.
      case 'give':
      case 'held':
      case 'again':
      case 'resume':
      case 'fork':
      case 'delivered':
      case 'ruling':
      case 'cancel':
      case 'close':
        return;
      default:
        return unknownKind(record, undefined);
    }
  }
}

const isReceive: Record<BeginKind, boolean> = { receive: true, step: false, child: false, sleep: false, ask: false };

const addMember = (
  directory: Directory,
  birth: Birth,
  definition: AgentDefinition | undefined,
  createdAt: number,
): void => {
  if (!hasMailbox(birth, definition)) return;
  const { cell, parent, agent, spawned = null, task: part = null } = birth;
  const { messages = messagesDefault, topics = { hear: [], say: [] }, team } = definition ?? {};
  const name = spawned?.name ?? agent;
  directory.add({ cell, parent, agent, name, spawned, messages, topics, createdAt, part, forwards: team?.messages });
};

const deliver = (directory: Directory, { contents = [] }: Frame<Crossed>): void => {
  for (const crossed of contents) {
    if (!isMessage(crossed)) continue;
    // probe: post-deliver-letter
    directory.get(crossed.cell)?.mailbox.put(crossed);
  }
};

/** What a post changed besides its crossings. */
type PostValue = {
  readonly subscribed?: string;
  /** Children that were asked to finish. */
  readonly asked?: readonly CellId[];
  /** Child results that the post reported, so they are no longer mail. */
  readonly told?: readonly number[];
};

const applyPost = (directory: Directory, cell: CellId, value: Json | undefined): void => {
  if (typeof value !== 'object' || value === null) return;
  const { subscribed, asked = [], told } = value as PostValue;
  const member = directory.get(cell);
  // probe: post-load-subscription
  if (subscribed !== undefined && member !== undefined) directory.subscribe(member, subscribed);
  if (told !== undefined) member?.mailbox.remove(told);
  // Nobody asks the children of another to finish.
  for (const child of asked.map((one) => directory.get(one))) if (child?.parent === cell) child.mailbox.close();
};

/** The end of a spawned child, which nobody waits for, goes to its caller's mailbox. */
const removeEnded = (directory: Directory, { cell, contents = [] }: Frame<Crossed>, ended: CellId): void => {
  const isSpawned = (directory.get(ended)?.spawned ?? null) !== null;
  directory.remove(ended);
  const isResult = (one: Crossed): one is Crossed<'result'> =>
    one.kind === 'result' && one.from === ended && one.to === cell && one.cell === cell;
  const result = isSpawned ? contents.find(isResult) : undefined;
  // probe: post-tell-end
  if (result !== undefined) directory.get(cell)?.mailbox.put(result);
};

const removeReceived = (directory: Directory, cell: CellId, { value }: RecordOf<'settle'>): void => {
  const { messages = [], expired = [] } = (value ?? {}) as Partial<ReceiveResult>;
  directory.get(cell)?.mailbox.remove([...messages, ...expired]);
};
