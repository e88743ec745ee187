// What the providers know that it cost is within every cap above it.
import { cellOf, factsOf } from './facts.ts';
import type { CellFacts } from './facts.ts';
import type { Judge } from './judge.ts';

type Used = { tokens: number; nanoUsd: number; spawns: number };

export const cost: Judge = {
  name: 'true cost ≤ cap',
  look: (history, say) => {
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
    for (const call of history.modelCalls) add(cellOf(history, call) ?? null, call);
    for (const run of history.runs) for (const { parent } of factsOf(run).cells.values()) add(parent, { spawns: 1 });
    let checks = 0;
    for (const [{ birth }, sum] of used)
      for (const key of ['tokens', 'nanoUsd', 'spawns'] as const) {
        const cap = birth.caps[key];
        if (cap === undefined) continue;
        checks++;
        if (sum[key] > cap) say(`at most ${cap} ${key} in ${birth.cell} and below`, `${sum[key]}`);
      }
    return checks;
  },
};
