// Mail delivery of one run: gives live cells what a frame brings them, and wakes those that wait for it.
//
//   reader-woken-after-call. Its reader is woken after the call that wrote the frame has returned, in the order of frames.
//   mail-addressed-to-a-cell. A message never reaches a cell that has ended, or a later cell with the same name.
import type { CellId } from '#base';
import { decodeMail } from '#contracts';
import type { Agent, Crossed, Frame } from '#contracts';
import { Directory, isMessage } from '#core/bus';
import type { CrossingMoment, Door } from '#core/crossings';
import { MailDirectoryFold } from '#core/events';
import type { ReceivedCrossings } from './received-crossings.ts';

/** What mail delivery needs to know about a cell. */
type MailAddress = {
  readonly cellId: CellId;
  readonly agent: Agent;
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
  /** Who can receive mail, and their mailboxes. */
  readonly fold: MailDirectoryFold;
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

  constructor(door: Door) {
    this.#door = door;
    this.directory = new Directory(door, this.#queue);
    this.fold = new MailDirectoryFold(this.directory);
  }

  /** A cell that mail can reach has come to life. */
  register(address: MailAddress): void {
    const { cellId } = address;
    // probe: mail-register
    this.#addresses.set(cellId, address);
    for (const { crossed, frame } of this.#kept?.get(cellId) ?? []) receive(address, crossed, frame);
    this.#kept?.delete(cellId);
  }

  forget(cell: CellId): void {
    this.#addresses.delete(cell);
  }

  /** Null until a resumed run has reached the cell. */
  agentOf(cell: CellId): Agent | null {
    return this.#addresses.get(cell)?.agent ?? null;
  }

  /** Hands the live cells what a frame that was just written brings them. */
  deliver(frame: Frame<Crossed>): void {
    const { record, contents = [] } = frame;
    if (record.type !== 'post' && record.type !== 'mail' && record.type !== 'settle') return;
    for (const crossed of contents) {
      if (crossed.kind !== 'note' && !isMessage(crossed)) continue;
      // probe: mail-deliver-address
      const address = this.#addresses.get(crossed.cell);
      if (address !== undefined) receive(address, crossed, frame);
      else if (this.directory.get(crossed.cell) !== undefined) this.#keep(crossed, frame);
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
      this.#door.cross({ kind: 'note', from: cell, to: from, content, unread: true }, moment);
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
}

// What waits to be handed to the cells of a run. No session is woken inside the call of another: the call returns first, and then
// everyone is served, in the order of the frames that concern them.

type Servable = { serve(): void };

class DeliveryQueue {
  #waiting: Servable[] = [];

  /** One promise for all that is added before it is their turn. */
  add(one: Servable): void {
    if (this.#waiting.push(one) === 1) void Promise.resolve().then(() => this.drain());
  }

  /** Serves everyone, including those who are added meanwhile. For what happens outside of all sessions. */
  drain(): void {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      for (const one of batch) one.serve();
    }
  }
}
