// The first frames of a run that continues from a checkpoint: an unchanged prefix of another run's log.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Frame } from '#contracts';
import { framesHash } from './frames-hash.ts';

/** Throws `checkpoint_invalid` if no run can continue from this cut. */
export const cutFrames = (
  frames: readonly Frame[],
  count: number,
  { run, now }: { readonly run: RunId; readonly now: number },
): readonly Frame[] => {
  const kept = frames.slice(0, count);
  const [open] = kept;
  if (open?.record.type !== 'open' || kept.length < count)
    throw new CloisterError(
      'checkpoint_invalid',
      `The run has ${frames.length} records, but the checkpoint needs ${count}.`,
    );
  const { birth } = open.record;
  if (kept.some(({ record }) => record.type === 'cancel'))
    throw new CloisterError('checkpoint_invalid', 'The run was already cancelled at that point.');
  if (kept.at(-1)!.record.type === 'close')
    throw new CloisterError('checkpoint_invalid', 'The run had already ended at that point.');
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
