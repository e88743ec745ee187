// How long a cell waited for people, as its session sees it.
import type { Account } from '#core/events';

type Pause = Account['activity']['pauses'][number];

/** The newest settlement that the session received. */
type SeenBy = { readonly now: number; readonly nowFrame: number };

/** As of that settlement, so it is the same on replay. With `run`, without the time in which the run was down. */
export const pausedMs = (
  pauses: readonly Pause[],
  { now, nowFrame }: SeenBy,
  run?: { downBetween(first: number, last: number): number },
): number => {
  let ms = 0;
  for (const { from, to } of pauses) {
    if (from.no > nowFrame) break;
    // A cell that was stopped has seen the end of its wait, but its time is that of the stop.
    const end = to === null || to.no > nowFrame || to.at > now ? { no: nowFrame, at: now } : to;
    ms += Math.max(0, end.at - from.at) - (run?.downBetween(from.no, end.no) ?? 0);
  }
  return ms;
};
