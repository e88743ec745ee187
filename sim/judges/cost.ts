// The true cost, which the providers know, stays within the caps of the cell and of all cells above it. It may pass them only
// by what requests cost beyond their holds, because their input was estimated too low.
import { attemptOnDisk, callingCell, framesOnDisk, heldCost, runFacts } from './facts.ts';
import type { CellFacts } from './facts.ts';
import type { Judge } from './judge.ts';

type Used = { tokens: number; nanoUsd: number; spawns: number };

export const cost: Judge = {
  name: 'true cost ≤ cap',
  check: (history, report) => {
    const used = new Map<CellFacts, Used>();
    const add = (cell: CellFacts | null, more: Partial<Used>): void => {
      for (let one = cell; one !== null; one = one.parent) {
        const sum = used.get(one) ?? { tokens: 0, nanoUsd: 0, spawns: 0 };
        sum.tokens += more.tokens ?? 0;
        sum.nanoUsd += more.nanoUsd ?? 0;
        sum.spawns += more.spawns ?? 0;
        used.set(one, sum);
      }
    };
    for (const call of history.modelCalls) {
      const cell = callingCell(history, call) ?? null;
      const attempt = cell && attemptOnDisk(cell, framesOnDisk(history, cell.run, call.onDisk));
      add(cell, heldCost(call, attempt?.begin.hold));
    }
    for (const run of history.runs) for (const { parent } of runFacts(run).cells.values()) add(parent, { spawns: 1 });
    let checks = 0;
    for (const [{ birth }, sum] of used)
      for (const key of ['tokens', 'nanoUsd', 'spawns'] as const) {
        const cap = birth.caps[key];
        if (cap === undefined) continue;
        checks++;
        if (sum[key] > cap) report(`at most ${cap} ${key} in ${birth.cell} and below`, `${sum[key]}`);
      }
    return checks;
  },
};
