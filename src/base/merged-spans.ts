// Time that spans cover together: where they overlap, it counts once.
/** When something ended, and how long it took. */
export type TimeSpan = { readonly at: number; readonly ms?: number };

type Span = { readonly from: number; readonly to: number };

/** How much time spans cover together. They come in the order in which they ended. */
export class MergedSpans {
  totalMs = 0;
  /** The newest spans, merged and in order. */
  #spans: Span[] = noSpans;

  add({ at, ms = 0 }: TimeSpan): void {
    if (ms === 0) return;
    let from = at - ms;
    let spans = this.#spans.length;
    for (; spans > 0 && this.#spans[spans - 1]!.to >= from; spans--) {
      const { from: earlier, to } = this.#spans[spans - 1]!;
      from = Math.min(from, earlier);
      this.totalMs -= to - earlier;
    }
    this.#spans = [...this.#spans.slice(Math.max(0, spans - spansMax), spans), { from, to: at }];
    this.totalMs += at - from;
  }
}

const noSpans: Span[] = [];
/** Older spans are dropped: of a session, only the steps of one turn can overlap. */
const spansMax = 64;
