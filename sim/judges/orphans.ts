// Nothing is left over at the end: no unfinished cell, no work, no timer, no slot, no owner.
import { callingCell, runFacts, framesOnDisk, callingOperation } from './facts.ts';
import type { Judge } from './judge.ts';

export const orphans: Judge = {
  name: 'nothing is left over',
  check: (history, report) => {
    let checks = 0;
    for (const run of history.runs) {
      // Nobody ends what was deleted before its end.
      if (run.isDeleted) continue;
      const { cells, operations } = runFacts(run);
      checks += cells.size + operations.size;
      for (const { birth, outcome } of cells.values())
        if (outcome === null) report('every cell to end', `${birth.cell} did not`);
      for (const [key, { begin, settle }] of operations)
        if (settle === undefined) report('every operation to settle', `${key} (${begin.name}) has not`);
    }
    for (const call of history.modelCalls) {
      const { onDisk, model } = call;
      const cell = callingCell(history, call);
      if (cell !== undefined && cell.endedIn < framesOnDisk(history, cell.run, onDisk))
        report(`no request for ${cell.birth.cell} after its end`, `${model} was called`);
    }
    for (const call of history.toolCalls) {
      const { onDisk, tool } = call;
      const cell = callingOperation(history, call)?.cell;
      if (cell !== undefined && cell.endedIn < framesOnDisk(history, cell.run, onDisk))
        report(`no call of ${cell.birth.cell} after its end`, `${tool} was called`);
    }
    for (const { process, diedAt, exitedAt, timersLeft, slotsMissing, serversOpen } of history.processes) {
      if (diedAt !== null) continue;
      checks += 3;
      // A server that did not close in time ended with its process.
      if (serversOpen !== 0 && exitedAt === null)
        report(`every server closed in process ${process}`, `${serversOpen} are open`);
      if (timersLeft !== 0) report(`no timer left in process ${process}`, `${timersLeft} are`);
      if (slotsMissing !== 0) report(`every slot released in process ${process}`, `${slotsMissing} are missing`);
    }
    for (const { run, process, outcome, ownedAtEnd } of history.sessions)
      if (outcome !== null && ownedAtEnd)
        report(`run ${run} to be released when it has ended`, `process ${process} still owns it`);
    for (const run of history.stillOwned)
      report(`no owner of run ${run} after all processes were closed`, 'it still has one');
    return checks;
  },
};
