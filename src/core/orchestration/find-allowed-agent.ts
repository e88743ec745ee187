// An answer belongs to the run that asked (`answer-not-forked`). A call of a tool is asked about again in a fork, or its result is kept.
// An agent that a person allowed and that is still at work has no result: in a fork it would do the rest of its work once more,
// without anybody's consent.
import type { CellId } from '#base';
import type { Frame } from '#contracts';

/** An agent that a person allowed, and that had not ended at the end of these frames. */
type AllowedAgent = { readonly cell: CellId; readonly agent: string };

export const findAllowedAgent = (frames: readonly Frame[]): AllowedAgent | null => {
  const atWork = new Map<string, AllowedAgent>();
  for (const { cell, record } of frames) {
    if (record.type === 'settle') atWork.delete(`${cell}/${record.op}`);
    if (record.type !== 'begin' || record.birth === undefined || typeof record.about?.['ask'] !== 'number') continue;
    atWork.set(`${cell}/${record.op}`, { cell: record.birth.cell, agent: record.birth.agent });
  }
  // probe: agent-allowed-at-work
  return [...atWork.values()][0] ?? null;
};
