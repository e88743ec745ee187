// The seal on content that has crossed. TypeScript's brand stops mistakes; this stops casts and plain JavaScript.
//
//   Z1. The seal is a private field, so a cast, a copy, a spread, JSON or a proxy does not have it.
//   Z2. A seal names its run: what crossed in another run is not accepted here, nor what crossed to another cell.
import { CloisterError } from '#base';
import type { CellId } from '#base';
import type { Crossed, CrossingContent, CrossingEnd, CrossingKind, Label } from '#contracts';

/** One for each run. */
export class Seal {
  seal<K extends CrossingKind>(content: CrossingContent<K>): Crossed<K> {
    return new SealedCrossing(this, content) as unknown as Crossed<K>;
  }

  /** Throws unless this content crossed in this run, into this cell. */
  check(crossed: Crossed, cell: CellId): void {
    if (!SealedCrossing.isSealedBy(this, crossed) || crossed.cell !== cell || crossed.to !== cell)
      throw new CloisterError('defect', `Content was put into ${cell} that did not cross into it.`);
  }
}

/** The fields are in the order in which the log holds them. */
class SealedCrossing {
  readonly cell: CellId;
  readonly seq: number;
  readonly kind: CrossingKind;
  readonly from: CrossingEnd;
  readonly to: CrossingEnd;
  readonly labels: readonly Label[];
  readonly content: string;
  readonly #by: Seal;

  constructor(by: Seal, { cell, seq, kind, from, to, labels, content }: CrossingContent) {
    this.cell = cell;
    this.seq = seq;
    this.kind = kind;
    this.from = from;
    this.to = to;
    this.labels = frozenLabels(labels);
    this.content = content;
    this.#by = by;
    Object.freeze(this);
  }

  static isSealedBy(by: Seal, value: unknown): boolean {
    return typeof value === 'object' && value !== null && #by in value && value.#by === by;
  }
}

export const frozenLabels = (labels: readonly Label[]): readonly Label[] => {
  if (labels.length === 0) return noLabels;
  return Object.isFrozen(labels) ? labels : Object.freeze([...labels]);
};

const noLabels: readonly never[] = Object.freeze([]);
