// Mail delivery of one run: puts the messages in a frame into their recipients' mailboxes.
//
//   P1. A mailbox holds only what is in the log: a message is put there when its frame is written, in the order of frames.
//   P2. Its reader is woken after the call that wrote the frame has returned, in the order of frames.
//   P3. A message is addressed to a cell: it never reaches a cell that has ended, or a later cell with the same name.
import type { CellId } from '#base';
import { decodeMail } from '#contracts';
import type { Agent, Crossed, Frame, SpawnIdentity, TeamPart } from '#contracts';
import { Directory, isMessage } from '#core/bus';
import type { Member } from '#core/bus';
import { messagesDefault } from '#core/crossings';
import type { CrossingMoment, Door } from '#core/crossings';
import { DeliveryQueue } from './delivery-queue.ts';
import { loadMailDirectory } from './load-mail-directory.ts';
import type { ReceivedCrossings } from './received-crossings.ts';

/** What mail delivery needs to know about a cell. */
type MailAddress = {
  readonly cellId: CellId;
  readonly parent: CellId | null;
  readonly agent: Agent;
  readonly spawned: SpawnIdentity | null;
  readonly createdAt: number;
  readonly task: TeamPart | null;
  readonly receivedCrossings: ReceivedCrossings;
  halt(): void;
};

type KeptCrossing = { readonly crossed: Crossed; readonly frame: Frame<Crossed> };

const receive = ({ receivedCrossings }: MailAddress, crossed: Crossed, frame: Frame<Crossed>): void => {
  if (isMessage(crossed)) receivedCrossings.addMail(crossed, frame.no);
  else receivedCrossings.addFromFrame(frame);
};

export class MailDelivery {
  readonly directory: Directory;
  readonly #addresses = new Map<CellId, MailAddress>();
  /** For cells that a resumed run knows from its log and has not reached yet. */
  #kept: Map<CellId, readonly KeptCrossing[]> | null = null;
  /** Cells that have answered and wait for the agents that they spawned. */
  readonly #idleWaiters = new Map<CellId, () => void>();
  /** Topics that have subscribers outside the run. */
  readonly outsideTopics = new Set<string>();

  readonly #door: Door;
  readonly #queue = new DeliveryQueue();
  readonly #idleCheck = { serve: (): void => this.#checkIdle() };

  /** `past`: on resume, the frames of the log. */
  constructor(door: Door, past?: readonly Frame<Crossed>[]) {
    this.#door = door;
    this.directory = past === undefined ? new Directory(door, this.#queue) : loadMailDirectory(past, door, this.#queue);
  }

  /** Makes a cell reachable by mail. On resume, the log may already have registered it. */
  register(address: MailAddress): Member {
    const { cellId, parent, agent, spawned, createdAt, task: part } = address;
    this.#addresses.set(cellId, address);
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
      createdAt,
      part,
      forwards,
    };
    for (const { crossed, frame } of this.#kept?.get(cellId) ?? []) receive(address, crossed, frame);
    this.#kept?.delete(cellId);
    return this.directory.get(cellId) ?? this.directory.add(entry);
  }

  forget(cell: CellId): void {
    this.directory.remove(cell);
    this.#addresses.delete(cell);
  }

  /** Null until a resumed run has reached the cell. */
  agentOf(cell: CellId): Agent | null {
    return this.#addresses.get(cell)?.agent ?? null;
  }

  /** Puts the messages in a frame into the mailboxes. */
  deliver(frame: Frame<Crossed>): void {
    for (const crossed of frame.contents ?? []) {
      if (crossed.kind !== 'note' && !isMessage(crossed)) continue;
      const address = this.#addresses.get(crossed.cell);
      if (address !== undefined) receive(address, crossed, frame);
      else if (this.directory.get(crossed.cell) !== undefined) this.#keep(crossed, frame);
      if (!isMessage(crossed)) continue;
      // probe: post-deliver-letter
      this.directory.get(crossed.cell)?.mailbox.put(crossed);
    }
  }

  #keep(crossed: Crossed, frame: Frame<Crossed>): void {
    const kept = (this.#kept ??= new Map<CellId, KeptCrossing[]>());
    kept.set(crossed.cell, [...(kept.get(crossed.cell) ?? []), { crossed, frame }]);
  }

  /** Notifies the senders of a cell's unread messages that the cell has ended. */
  returnUnread(cell: CellId, moment: CrossingMoment): void {
    const member = this.directory.get(cell);
    for (const { kind, from, seq } of member?.mailbox.unread ?? []) {
      if (kind !== 'message' || from === 'outside' || this.directory.get(from) === undefined) continue;
      const { id, message_type: type } = decodeMail(
        this.#addresses.get(cell)?.receivedCrossings.at(seq)?.content ?? '{}\n',
      );
      if (type !== 'message') continue;
      // probe: post-unread-note
      const content = `Your message ${id} to ${member!.name} was not read: that agent has ended.`;
      this.#door.cross({ kind: 'note', from: cell, to: from, content }, moment);
    }
  }

  /** Calls back once, as soon as all agents below the cell only wait for mail. The returned function stops waiting. */
  awaitIdleBelow(cell: CellId, onIdle: () => void): () => void {
    this.#idleWaiters.set(cell, onIdle);
    this.#checkIdle();
    return () => void this.#idleWaiters.delete(cell);
  }

  /** Call when a cell has begun to wait for mail, or has ended and its parent has been told. */
  notifyIdleWaiters(): void {
    if (this.#idleWaiters.size > 0) this.#queue.add(this.#idleCheck);
  }

  #checkIdle(): void {
    for (const [cell, onIdle] of this.#idleWaiters) {
      if (!this.directory.isIdleBelow(cell)) continue;
      this.#idleWaiters.delete(cell);
      onIdle();
    }
  }

  /** Wakes whoever has mail. Call when it was not a session that sent it, so that nobody's call has to return first. */
  wake(): void {
    this.#queue.drain();
  }

  /** Stops a cell that was asked to finish and did not. */
  halt(cell: CellId): void {
    this.#addresses.get(cell)?.halt();
  }

  /** Puts the end of a child that nobody waits for into its caller's mailbox. */
  notifyEnd(parent: CellId, result: Crossed<'result'>): void {
    // probe: post-tell-end
    this.directory.get(parent)?.mailbox.put(result);
  }
}
