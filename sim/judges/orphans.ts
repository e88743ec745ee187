// At the end nothing is left over: no cell without an end, no work, no timer, no slot, no owner.
import { cellOf, factsOf, lengthThen, operationOf } from './facts.ts';
import type { Judge } from './judge.ts';

export const orphans: Judge = {
  name: 'no orphan',
  look: (history, say) => {
    let checks = 0;
    for (const run of history.runs) {
      const { cells, operations } = factsOf(run);
      checks += cells.size + operations.size;
      for (const { birth, outcome } of cells.values())
        if (outcome === null) say('every cell to end', `${birth.cell} has no end`);
      for (const [key, { begin, settle }] of operations)
        if (settle === undefined) say('every operation to settle', `${key} (${begin.name}) has not`);
    }
    for (const call of history.modelCalls) {
      const { onDisk, model } = call;
      const cell = cellOf(history, call);
      if (cell !== undefined && cell.endedIn < lengthThen(history, cell.run, onDisk))
        say(`no request for ${cell.birth.cell} after its end`, `${model} was asked`);
    }
    for (const call of history.toolCalls) {
      const { onDisk, tool } = call;
      const cell = operationOf(history, call)?.cell;
      if (cell !== undefined && cell.endedIn < lengthThen(history, cell.run, onDisk))
        say(`no call of ${cell.birth.cell} after its end`, `${tool} was called`);
    }
    for (const { process, diedAt, exitedAt, timersLeft, slotsMissing, serversOpen } of history.lives) {
      if (diedAt !== null) continue;
      checks += 3;
      // What did not close in time went with its process.
      if (serversOpen !== 0 && exitedAt === null)
        say(`every server closed in process ${process}`, `${serversOpen} are open`);
      if (timersLeft !== 0) say(`no timer left in process ${process}`, `${timersLeft} are`);
      if (slotsMissing !== 0) say(`every slot given back in process ${process}`, `${slotsMissing} are missing`);
    }
    for (const { run, process, outcome, ownedAtEnd } of history.followings)
      if (outcome !== null && ownedAtEnd)
        say(`run ${run} given back when it has ended`, `process ${process} still owns it`);
    for (const run of history.owned) say(`nobody to own run ${run} after all processes were closed`, 'somebody does');
    return checks;
  },
};
