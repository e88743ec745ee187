// The first frames of a run that continues from a checkpoint: an unchanged prefix of another run's log.
import { CloisterError, omitUndefined } from '#base';
import type { RunId } from '#base';
import type { Budget, Frame } from '#contracts';
import { isWithinBudget } from './fork-frames.ts';
import { findAllowedAgent } from './find-allowed-agent.ts';
import { framesHash } from './frames-hash.ts';

type CutPorts = {
  readonly run: RunId;
  readonly now: number;
  /** The caller that the new run belongs to. Without one, it is the operator's. */
  readonly caller?: string | undefined;
  /** The most that the new run, which keeps the budget of the old one, may spend. */
  readonly budgetMax?: Budget | undefined;
};

/** Throws `checkpoint_invalid` if no run can continue from this cut. */
export const cutFrames = (
  frames: readonly Frame[],
  count: number,
  { run, now, caller, budgetMax }: CutPorts,
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
  if (!isWithinBudget(open, birth, budgetMax))
    throw new CloisterError(
      'checkpoint_invalid',
      'The run would keep its budget, which is above yours. Start a new run instead.',
    );
  const allowed = findAllowedAgent(kept);
  if (allowed !== null)
    throw new CloisterError(
      'checkpoint_invalid',
      `A person allowed ${allowed.agent} to work for that run, and it was at work there. Fork the run at ${allowed.cell}, where a person is asked again.`,
    );
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
      ...omitUndefined({ caller }),
    },
  };
  return [...kept.map(/* probe: cut-frame */ (frame): Frame => ({ ...frame, run })), fork];
};
