// A call whose settlement is on the disk is not repeated.
import { attemptOnDisk, callingCell, hasAmbiguousCaller, framesOnDisk, callingOperation } from './facts.ts';
import type { Judge } from './judge.ts';

export const settledOnce: Judge = {
  name: 'settled ⇒ not repeated',
  check: (history, report) => {
    for (const call of history.toolCalls) {
      const { key, tool, onDisk, process } = call;
      const operation = callingOperation(history, call);
      if (operation !== undefined && operation.settledIn < framesOnDisk(history, operation.cell.run, onDisk))
        report(`${key} not to be called again once it is settled`, `process ${process} called ${tool}`);
    }
    for (const call of history.modelCalls) {
      const { goal, model, onDisk, process } = call;
      const cell = callingCell(history, call);
      // The caller cannot be determined.
      if (hasAmbiguousCaller(call)) continue;
      const length = cell === undefined ? 0 : framesOnDisk(history, cell.run, onDisk);
      const attempt = cell && attemptOnDisk(cell, length);
      if (attempt === undefined)
        report('an attempt on the disk before its request is sent', `process ${process} called ${model} for "${goal}"`);
      else if (attempt.settledIn < length)
        report(
          `no request without an attempt in flight in ${attempt.cell.birth.cell}`,
          `process ${process} called ${model}, but attempt ${attempt.begin.op} is settled in frame ${attempt.settledIn}`,
        );
    }
    return history.toolCalls.length + history.modelCalls.length;
  },
};
