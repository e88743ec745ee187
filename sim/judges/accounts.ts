// The accounts of a run never show less than the true cost of each attempt, which the providers know, and nothing for an
// attempt that the provider refused. Where no usage was reported, they show the hold: of what a request cost beyond it,
// nobody can know.
import type { Amounts } from '#contracts';
import { attemptOnDisk, callingCell, hasAmbiguousCaller, heldCost, framesOnDisk } from './facts.ts';
import type { OperationFacts } from './facts.ts';
import type { Judge } from './judge.ts';

type Sums = { tokens: number; nanoUsd: number };

export const accounts: Judge = {
  name: 'booked cost ≥ true cost',
  check: (history, report) => {
    const truth = new Map<OperationFacts, Sums>();
    const refused = new Map<OperationFacts, boolean>();
    for (const call of history.modelCalls) {
      const cell = callingCell(history, call);
      const attempt = cell && attemptOnDisk(cell, framesOnDisk(history, cell.run, call.onDisk));
      if (attempt === undefined || hasAmbiguousCaller(call)) continue;
      const sums = truth.get(attempt) ?? { tokens: 0, nanoUsd: 0 };
      const { tokens, nanoUsd } = heldCost(call, attempt.begin.hold);
      truth.set(attempt, { tokens: sums.tokens + tokens, nanoUsd: sums.nanoUsd + nanoUsd });
      refused.set(attempt, call.refused && refused.get(attempt) !== false);
    }
    for (const [attempt, cost] of truth) {
      const booked = bookedCost(attempt);
      for (const key of ['tokens', 'nanoUsd'] as const)
        if (booked[key] < cost[key])
          report(
            `at least ${cost[key]} ${key} booked for ${attempt.cell.birth.cell}/${attempt.begin.op}`,
            `${booked[key]}`,
          );
      if (refused.get(attempt) === true && heardRefusal(attempt) && attempt.settle?.uncertain !== undefined)
        report(
          `nothing booked for ${attempt.cell.birth.cell}/${attempt.begin.op}, which was refused`,
          `${attempt.settle.uncertain.tokens} uncertain tokens`,
        );
    }
    return truth.size * 3;
  },
};

/** False if it was stopped, or timed out, before the refusal arrived. */
const heardRefusal = ({ settle }: OperationFacts): boolean =>
  ['model_rate', 'model_server', 'model_request', 'model_auth', 'model_network'].includes(settle?.failure?.code ?? '');

/** The cost, the uncertain amount, and the uncertain amounts of earlier tries. */
const bookedCost = ({ cell, begin, settle }: OperationFacts): Sums => {
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
  // An unsettled attempt is not booked yet. Then the run is not over, which another judge reports.
  return settle === undefined ? { tokens: Infinity, nanoUsd: Infinity } : sums;
};
