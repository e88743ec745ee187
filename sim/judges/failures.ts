// No impossible failure, and nothing uncaught.
import type { RunId } from '#base';
import type { History } from '../history.ts';
import { callingCell, runFacts } from './facts.ts';
import type { Judge } from './judge.ts';

const impossible = ['defect', 'replay_differs', 'unattributed', 'budget_overdrawn', 'model_missing', 'run_lost'];
/** Errors that may prevent a run from being recorded, or from being resumed. */
const excused = ['store_failed', 'store_busy', 'run_owned', null];
const resumeExcused = [...excused, 'run_ended', 'run_unknown', 'conversation_busy'];
/** Errors that may prevent a checkpoint from being taken or restored. */
const askExcused = [...excused, 'run_unknown', 'conversation_busy', 'checkpoint_invalid'];

/** Whether another process acquired the run after this one had it. */
const wasTaken = ({ ownership }: History, run: RunId, process: number): boolean => {
  const owners = ownership.filter((one) => one.run === run && one.what === 'acquired').map((one) => one.process);
  return owners.includes(process) && owners.slice(owners.indexOf(process)).some((one) => one !== process);
};

export const failures: Judge = {
  name: 'no defect',
  check: (history, report) => {
    const { runs, sessions, resumeRefusals, otherRequests, uncaught, modelCalls, processes } = history;
    const dense = new Set(modelCalls.filter((call) => call.dense).map((call) => callingCell(history, call)));
    let checks = 0;
    const judge = (
      failure: { readonly code: string; readonly detail?: string } | null | undefined,
      where: string,
    ): void => {
      checks++;
      if (failure && impossible.includes(failure.code))
        report(`no ${failure.code}`, `${where}: ${failure.detail ?? ''}`);
    };
    for (const run of runs) {
      const { operations, cells } = runFacts(run);
      for (const [key, { settle, begin }] of operations) judge(settle?.failure, `${key} (${begin.name})`);
      // A team fails with the code of its first member that failed.
      const parents = new Set([...dense].map((cell) => cell?.parent));
      for (const cell of cells.values())
        if (!(dense.has(cell) || parents.has(cell)) || cell.outcome?.failure?.code !== 'budget_overdrawn')
          judge(cell.outcome?.failure, cell.birth.cell);
    }
    // Whoever closes a process leaves the runs that wait for people.
    const isLeft = (error: string | null, process: number): boolean =>
      error === 'approval_needed' && (processes[process - 1]!.exitedAt ?? processes[process - 1]!.diedAt) !== null;
    for (const { error, process, run } of sessions)
      if (
        !excused.includes(error) &&
        !isLeft(error, process) &&
        !(error === 'run_lost' && wasTaken(history, run, process))
      )
        report(`run ${run} to end, or the store to fail`, `process ${process}: ${error}`);
    const wasDeleted = new Set(history.remains.flatMap(({ run, former }) => (former === null ? [] : [run])));
    const isGone = (code: string | null, run: RunId): boolean => code === 'run_exists' && wasDeleted.has(run);
    for (const { code, process, run, message } of resumeRefusals)
      if (
        !resumeExcused.includes(code) &&
        !isGone(code, run) &&
        !(code === 'run_lost' && wasTaken(history, run, process))
      )
        report(`run ${run} to be resumed`, `process ${process}: ${message}`);
    const isOfDeleted = (what: string): boolean => [...wasDeleted].some((run) => what.includes(run));
    for (const { code, process, what, message } of otherRequests)
      if (!askExcused.includes(code) && !(code === 'checkpoint_unknown' && isOfDeleted(what)))
        report(`${what} to be done`, `process ${process}: ${message}`);
    for (const what of uncaught) report('nothing uncaught', what);
    return checks;
  },
};
