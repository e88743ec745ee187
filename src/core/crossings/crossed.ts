// The seal on content that has crossed. TypeScript's brand stops mistakes; this stops casts and plain JavaScript.
//
//   seal-is-private. A private field: a cast, a copy, a spread, JSON or a proxy does not have it.
//   seal-names-ledger. A seal names its run's ledger, which nobody outside this folder can reach: what crossed in another run
//       has another seal.
import type { CellId } from '#base';
import type { Crossed, CrossingContent, CrossingEnd, CrossingKind, Label } from '#contracts';

/** `by`: the ledger of the run. */
export const sealCrossing = <K extends CrossingKind>(by: object, content: CrossingContent<K>): Crossed<K> =>
  new SealedCrossing(by, content) as unknown as Crossed<K>;

/** Whether this ledger sealed the value. */
export let isSealedBy: (by: object, value: unknown) => boolean;

/** The fields are in the order in which the log holds them. */
class SealedCrossing {
  readonly cell: CellId;
  readonly seq: number;
  readonly kind: CrossingKind;
  readonly from: CrossingEnd;
  readonly to: CrossingEnd;
  readonly labels: readonly Label[];
  readonly content: string;
  readonly #by: object;

  constructor(by: object, { cell, seq, kind, from, to, labels, content }: CrossingContent) {
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

  static {
    // Not a member: from a crossing, anybody reaches its class, and could replace it.
    isSealedBy = (by, value) => typeof value === 'object' && value !== null && #by in value && value.#by === by;
  }
}

export const frozenLabels = (labels: readonly Label[]): readonly Label[] => {
  if (labels.length === 0) return noLabels;
  return Object.isFrozen(labels) ? labels : Object.freeze([...labels]);
};

const noLabels: readonly never[] = Object.freeze([]);
