// The frames of a run, read page by page, so that a long log is never in memory as a whole.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Frame, FrameSource, Store } from '#contracts';

type PagedStore = Pick<Store, 'pages'>;

/** May be read more than once. Like `Store.read`, rejects with `store_damaged` if any record is damaged. */
export const framesOf = (store: PagedStore, run: RunId): FrameSource => ({
  async *[Symbol.asyncIterator]() {
    const problems: string[] = [];
    for await (const page of store.pages(run)) {
      problems.push(...page.problems);
      // The rest is read for its problems only.
      if (problems.length === 0) yield* page.frames;
    }
    if (problems.length > 0) throw new CloisterError('store_damaged', problems.join('; '));
  },
});

/** The frames that can be read, and once they were read, `damaged` describes the others. */
export const readableFrames = (store: PagedStore, run: RunId): { frames: FrameSource; damaged: readonly string[] } => {
  const damaged: string[] = [];
  async function* read(): AsyncGenerator<Frame, void, undefined> {
    damaged.length = 0;
    for await (const page of store.pages(run)) {
      damaged.push(...page.problems);
      yield* page.frames;
    }
  }
  return { frames: { [Symbol.asyncIterator]: read }, damaged };
};
