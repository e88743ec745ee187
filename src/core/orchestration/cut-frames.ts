// The log that a run begins with when it goes on from a checkpoint: a prefix of another one's, as it is.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Frame } from '#contracts';
import { framesHash } from './frames-hash.ts';

/** Throws `checkpoint_invalid` for a cut from which nothing can go on. */
export const cutFrames = (
  frames: readonly Frame[],
  count: number,
  { run, now }: { readonly run: RunId; readonly now: number },
): readonly Frame[] => {
  const kept = frames.slice(0, count);
  const [open] = kept;
  if (open?.record.type !== 'open' || kept.length < count)
    throw new CloisterError('checkpoint_invalid', `Its run has ${frames.length} records, the cut needs ${count}.`);
  const { birth } = open.record;
  if (kept.some(({ record }) => record.type === 'cancel'))
    throw new CloisterError('checkpoint_invalid', 'The run had been cancelled by then.');
  if (kept.at(-1)!.record.type === 'close') throw new CloisterError('checkpoint_invalid', 'The run had ended by then.');
  const at = kept.reduce((latest, frame) => Math.max(latest, frame.at), 0);
  const fork: Frame = {
    run,
    no: count,
    at,
    cell: birth.cell,
    record: {
      type: 'fork',
      from: { run: open.run, frames: count, hash: framesHash(kept), at: birth.cell, forkedAt: now },
      amendment: { agent: birth.agent },
    },
  };
  return [...kept.map(/* probe: cut-frame */ (frame): Frame => ({ ...frame, run })), fork];
};
