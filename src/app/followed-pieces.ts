// What an agent says live in another process, in its place among the frames of its run.
//
//   followed-pieces-in-place. A live piece comes after the frame that began its attempt and before the one that settled it, and never
//       without the beginning of its text.
import type { CellId, JsonObject, RunId } from '#base';
import type { Frame, LiveChannel, LiveEvent } from '#contracts';

/** `after`: the newest frame that was on disk when it was said. */
type LivePiece = {
  readonly cell: CellId;
  readonly agent: string;
  readonly event: LiveEvent;
  readonly after: number;
};

/** Those who follow a run of this process in others. */
export type FollowersElsewhere = { isFollowing(): boolean; tell(piece: Omit<LivePiece, 'after'>): void };

/** `run.committed`: the number of its newest durable frame. */
export const followersElsewhere = (
  run: { readonly run: RunId; readonly committed: number },
  live: LiveChannel,
): FollowersElsewhere => ({
  isFollowing: () => live.isFollowed(run.run),
  tell: (piece) => live.publish(run.run, { ...piece, after: run.committed }),
});

type PassPiece = (cell: CellId, agent: string, event: LiveEvent) => void;

export class FollowedPieces {
  readonly #pass: PassPiece;
  readonly #stop: () => void;
  /** The number of the next frame. */
  #next: number;
  /** Pieces whose frames have not been read yet. */
  #early: LivePiece[] = [];
  /** Cells whose text is heard from its beginning. */
  readonly #heard = new Set<CellId>();
  /** The frame that settled something in a cell last. */
  readonly #settled = new Map<CellId, number>();

  constructor(next: number, pass: PassPiece, subscribe: (hear: (piece: JsonObject) => void) => () => void) {
    this.#next = next;
    this.#pass = pass;
    this.#stop = subscribe((piece) => this.#hear(piece as unknown as LivePiece));
  }

  frame({ no, cell, record }: Frame): void {
    this.#next = no + 1;
    // After a crash, an attempt is made again from its beginning.
    if (record.type === 'settle' || record.type === 'again') {
      this.#settled.set(cell, no);
      this.#heard.delete(cell);
    }
    const early = this.#early;
    this.#early = [];
    for (const piece of early) this.#hear(piece);
  }

  /** Whether its text is heard from its beginning. */
  hears(cell: CellId): boolean {
    return this.#heard.has(cell);
  }

  close(): void {
    this.#stop();
    this.#early = [];
  }

  #hear(piece: LivePiece): void {
    if (piece.after >= this.#next) {
      // Whoever is that far behind reads the text in the log.
      if (this.#early.length < earlyMax) this.#early.push(piece);
      return;
    }
    const { cell, agent, event, after } = piece;
    // Its attempt is over: the whole text is in the log.
    if ((this.#settled.get(cell) ?? -1) > after) return;
    if (event.type === 'text-reset') this.#heard.add(cell);
    if (this.#heard.has(cell)) this.#pass(cell, agent, event);
  }
}

const earlyMax = 2_000;
