// How long a cell has worked: one answer, wherever it is shown.
//
//   worked-as-recorded. Once a cell has ended, its time is the one in its outcome, and is never computed again. Until then it is the time
//       since its start without what it waited for people and what the run was down.
import type { CellView } from './cell-view.ts';
import { waitedMsUntil } from './waiting-time.ts';

type Worker = Pick<CellView, 'startedAt' | 'downMs' | 'wait' | 'spentMs'>;

export const workedMs = ({ spentMs, startedAt, downMs, wait }: Worker, now: number): number =>
  spentMs ?? Math.max(0, now - startedAt - downMs - waitedMsUntil(wait, now));
