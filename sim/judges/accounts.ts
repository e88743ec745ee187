// The books of a run never say less than what its providers know that each attempt cost.
import type { Amounts } from '#contracts';
import { attemptThen, cellOf, isOfATwin, lengthThen } from './facts.ts';
import type { OperationFacts } from './facts.ts';
import type { Judge } from './judge.ts';

type Sums = { tokens: number; nanoUsd: number };

export const books: Judge = {
  name: 'books ≥ true cost',
  look: (history, say) => {
    const truth = new Map<OperationFacts, Sums>();
    for (const call of history.modelCalls) {
      const { tokens, nanoUsd, onDisk } = call;
      const cell = cellOf(history, call);
      const attempt = cell && attemptThen(cell, lengthThen(history, cell.run, onDisk));
      if (attempt === undefined || isOfATwin(call)) continue;
      const sums = truth.get(attempt) ?? { tokens: 0, nanoUsd: 0 };
      truth.set(attempt, { tokens: sums.tokens + tokens, nanoUsd: sums.nanoUsd + nanoUsd });
    }
    for (const [attempt, cost] of truth) {
      const booked = bookedFor(attempt);
      for (const key of ['tokens', 'nanoUsd'] as const)
        if (booked[key] < cost[key])
          say(
            `at least ${cost[key]} ${key} in the books for ${attempt.cell.birth.cell}/${attempt.begin.op}`,
            `${booked[key]}`,
          );
    }
    return truth.size * 2;
  },
};

/** What it cost, what is doubtful, and what was doubtful before it ran again. */
const bookedFor = ({ cell, begin, settle }: OperationFacts): Sums => {
  const sums = { tokens: 0, nanoUsd: 0 };
  const add = ({ tokens = 0, nanoUsd = 0 }: Amounts): void => {
    sums.tokens += tokens;
    sums.nanoUsd += nanoUsd;
  };
  add(settle?.uncertain ?? {});
  if (settle?.cost !== undefined) {
    const { usage, nanoUsd } = settle.cost;
    add({ tokens: usage.inputTokens + usage.outputTokens, nanoUsd: nanoUsd ?? 0 });
  }
  for (const { record, cell: id } of cell.run.frames)
    if (record.type === 'again' && id === cell.birth.cell && record.op === begin.op) add(record.uncertain);
  // Nothing is in the books yet of what has not settled: the run is not over then, and another judge says so.
  return settle === undefined ? { tokens: Infinity, nanoUsd: Infinity } : sums;
};
