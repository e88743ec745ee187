// The agents that one cell spawned: by a tool call of its model, or from outside.
//
//   A decision of the session counts what came before its own frame, live and on a replay alike.
import type { ChildOperation, Frame, PendingOperation, SpawnIdentity } from '#contracts';

/** A spawned agent: its operation and its identity. */
export type SpawnedChild = {
  readonly pending: PendingOperation<ChildOperation>;
  readonly identity: SpawnIdentity;
  readonly spawnedAt: number;
};

type RecordedChild = SpawnedChild & {
  /** The frame in which it was started from outside; null if the session started it. */
  readonly outsideIn: number | null;
};

export class SpawnedChildren {
  #children: readonly RecordedChild[] = none;
  #outside = 0;

  add(pending: PendingOperation<ChildOperation>, spawnedAt: number): void {
    this.#add(pending, spawnedAt, null);
  }

  addOutside(pending: PendingOperation<ChildOperation>, { at, no }: Pick<Frame, 'at' | 'no'>): void {
    this.#outside++;
    this.#add(pending, at, no);
  }

  #add(pending: PendingOperation<ChildOperation>, spawnedAt: number, outsideIn: number | null): void {
    const child = { pending, identity: pending.operation.spawned!, spawnedAt, outsideIn };
    // probe: count-spawned
    this.#children = [...this.#children, child];
  }

  before(frame: number): readonly SpawnedChild[] {
    return this.#outside === 0 ? this.#children : this.#children.filter(({ outsideIn }) => (outsideIn ?? -1) < frame);
  }

  /** Operations from outside are numbered -1, -2 …: the session's own keep their numbers. */
  get nextOutsideNumber(): number {
    return -1 - this.#outside;
  }

  outsideBefore(frame: number): number {
    if (this.#outside === 0) return 0;
    return this.#children.filter(({ outsideIn }) => outsideIn !== null && outsideIn < frame).length;
  }
}

const none: readonly never[] = [];
