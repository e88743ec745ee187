// The agents that one cell spawned: by a tool call of its model, or from outside.
//
//   A decision of the session counts what came before its own frame, live and on a replay alike.
import type { ChildOperation, PendingOperation, SpawnedChild } from '#contracts';

/** `frame`: the one in which it was started. */
type RecordedChild = SpawnedChild & { readonly frame: number; readonly byOutside: boolean };

/** In the order in which they were started. On a replay, those from outside are added first. */
export class SpawnedChildren {
  #children: readonly RecordedChild[] = none;
  #outside = 0;

  add(pending: PendingOperation<ChildOperation>, spawnedAt: number, frame: number): void {
    this.#insert({ pending, identity: pending.operation.spawned!, spawnedAt, frame, byOutside: false });
  }

  addOutside(pending: PendingOperation<ChildOperation>, spawnedAt: number, frame: number): void {
    this.#outside++;
    this.#insert({ pending, identity: pending.operation.spawned!, spawnedAt, frame, byOutside: true });
  }

  #insert(child: RecordedChild): void {
    // probe: count-spawned
    this.#children = [...this.#children, child].sort((one, other) => one.frame - other.frame);
  }

  before(frame: number): readonly SpawnedChild[] {
    return this.#outside === 0 ? this.#children : this.#children.filter((child) => startedBefore(child, frame));
  }

  /** Operations from outside are numbered -1, -2 …: the session's own keep their numbers. */
  get nextOutsideNumber(): number {
    return -1 - this.#outside;
  }

  outsideBefore(frame: number): number {
    if (this.#outside === 0) return 0;
    return this.#children.filter((child) => child.byOutside && startedBefore(child, frame)).length;
  }
}

const startedBefore = ({ frame: started, byOutside }: RecordedChild, frame: number): boolean =>
  !byOutside || started < frame;

const none: readonly never[] = [];
