// The post of one run: brings what a frame carries into the boxes of those that it is for.
//
//   P1. A box holds only what the log holds: a letter is put there when its frame is written, in the order of frames.
//   P2. Nothing reaches a cell after its end, or one that is born later under the same name: letters are for cells.
import { decodeMessage, utf8Bytes } from '#base';
import type { CellId } from '#base';
import type { Agent, CrossingContent, Frame, Mail, SpawnIdentity } from '#contracts';
import { Directory } from '#core/bus';
import type { QueuedMessage, Member } from '#core/bus';
import { cross } from '#core/crossings';
import type { Door } from '#core/crossings';
import type { ReceivedCrossings } from './received-crossings.ts';

/** What the post needs to know of a cell. */
export type MailAddress = {
  readonly cellId: CellId;
  readonly parent: CellId | null;
  readonly agent: Agent;
  readonly spawned: SpawnIdentity | null;
  readonly bornAt: number;
  readonly arrivals: ReceivedCrossings;
  halt(): void;
};

export const messagesDefault: readonly string[] = ['parent', 'children'];

export class MailDelivery {
  readonly directory: Directory;
  readonly #homes = new Map<CellId, MailAddress>();
  /** Topics that are heard outside. */
  readonly heardOutside = new Set<string>();

  constructor(directory = new Directory()) {
    this.directory = directory;
  }

  /** From now on it can be written to; on resume the log may have done that. */
  register(runtime: MailAddress): Member {
    const { cellId, parent, agent, spawned, bornAt } = runtime;
    this.#homes.set(cellId, runtime);
    const { name, topics } = agent;
    const messages = agent.messages ?? messagesDefault;
    const forwards = agent.team?.messages;
    const entry = {
      cell: cellId,
      parent,
      agent: name,
      name: spawned?.name ?? name,
      spawned,
      messages,
      topics,
      bornAt,
      forwards,
    };
    return this.directory.get(cellId) ?? this.directory.add(entry);
  }

  forget(cell: CellId): void {
    this.directory.remove(cell);
    this.#homes.delete(cell);
  }

  /** Puts what a frame carries into the boxes. */
  deliver(frame: Frame): void {
    for (const content of frame.contents ?? []) {
      if (content.kind === 'note') this.#homes.get(content.cell)?.arrivals.take(frame);
      const letter = queuedMessageOf(content);
      if (letter === null) continue;
      this.#homes.get(content.cell)?.arrivals.takeMail(content, frame.no);
      // probe: post-deliver-letter
      this.directory.get(content.cell)?.box.put(letter);
    }
  }

  /** Tells those whose messages lie unread in the box of a cell that it is over. */
  returnUnread(cell: CellId, { ledger, at }: Pick<Door, 'ledger' | 'at'>): void {
    const member = this.directory.get(cell);
    for (const { kind, from, seq } of member?.box.unread ?? []) {
      if (kind !== 'message' || from === 'outside' || this.directory.get(from) === undefined) continue;
      const { id, message_type: type } = decodeMessage(
        this.#homes.get(cell)?.arrivals.at(seq)?.content ?? '{}\n',
      ) as Mail;
      if (type !== 'message') continue;
      // probe: post-unread-note
      const content = `Your message ${id} to ${member!.name} was not read: it has ended.`;
      const grants = [{ name: 'note', kind: 'note', from: cell, to: from } as const];
      cross({ kind: 'note', from: cell, to: from, content, labels: [] }, { grants, ledger, at });
    }
  }

  /** Stops a cell that was asked to come to an end and did not. */
  halt(cell: CellId): void {
    this.#homes.get(cell)?.halt();
  }

  /** The end of a child that nobody waits for, in its caller's box. */
  notifyEnd(parent: CellId, child: CellId, seq: number): void {
    // probe: post-tell-end
    this.directory.get(parent)?.box.put({ seq, kind: 'result', from: child, topic: null, bytes: 0 });
  }
}

export const queuedMessageOf = ({ cell, to, kind, seq, from, content }: CrossingContent): QueuedMessage | null => {
  if ((kind !== 'message' && kind !== 'broadcast') || cell !== to) return null;
  const head = content.slice(0, content.indexOf('\n'));
  const isPlain = kind === 'message' && !head.includes('"expires_at"');
  const { topic = null, expires_at: expiresAt } = isPlain ? ({} as Partial<Mail>) : (decodeMessage(content) as Mail);
  return { seq, kind, from, topic, bytes: utf8Bytes(content), ...(expiresAt === undefined ? {} : { expiresAt }) };
};
