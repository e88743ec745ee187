// What is settled on the disk is not asked for again.
import { attemptThen, cellOf, isOfATwin, lengthThen, operationOf } from './facts.ts';
import type { Judge } from './judge.ts';

export const settledOnce: Judge = {
  name: 'settled ⇒ not repeated',
  look: (history, say) => {
    for (const call of history.toolCalls) {
      const { key, tool, onDisk, process } = call;
      const operation = operationOf(history, call);
      if (operation !== undefined && operation.settledIn < lengthThen(history, operation.cell.run, onDisk))
        say(`${key} not to be called again once it is settled`, `process ${process} called ${tool}`);
    }
    for (const call of history.modelCalls) {
      const { goal, model, onDisk, process } = call;
      const cell = cellOf(history, call);
      // Of twins that were shown the same, either may have asked.
      if (isOfATwin(call)) continue;
      const length = cell === undefined ? 0 : lengthThen(history, cell.run, onDisk);
      const attempt = cell && attemptThen(cell, length);
      if (attempt === undefined)
        say('an attempt on the disk before its request is sent', `process ${process} asked ${model} for "${goal}"`);
      else if (attempt.settledIn < length)
        say(
          `no request without an attempt under way in ${attempt.cell.birth.cell}`,
          `process ${process} asked ${model}, and attempt ${attempt.begin.op} is settled in frame ${attempt.settledIn}`,
        );
    }
    return history.toolCalls.length + history.modelCalls.length;
  },
};
