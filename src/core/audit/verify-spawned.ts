// Checks that no outcome hides work that spawned agents left unfinished, or adds words to what they wrote. Runs after the frame is
// read.
import type { Frame, Outcome, SpawnedOutcome } from '#contracts';
import { problemLocation } from './problems.ts';
import type { AuditProblems } from './problems.ts';
import { endedCell } from './records.ts';
import type { CellRecords, RunRecords } from './records.ts';

export const verifySpawned =
  (records: RunRecords, problems: AuditProblems) =>
  (frame: Frame): void => {
    const ended = endedCell(frame);
    const cell = ended && records.cells.get(ended.cell);
    if (ended === undefined || cell?.end === undefined) return;
    const { spawned: listed = [] } = ended.outcome;
    const children = cell.children.filter(({ birth }) => birth.spawned !== undefined);
    const faults = children.flatMap((child) => childFaults(ended.outcome, cell, child));
    const isKnown = ({ agent, cell: id }: SpawnedOutcome): boolean =>
      children.some(({ birth }) => birth.cell === id && birth.spawned?.name === agent);
    for (const one of listed) if (!isKnown(one)) faults.push(`it did not spawn "${one.agent}"`);
    for (const fault of faults) problems.add('outcome-spawned', problemLocation(frame, ended.cell), fault);
  };

const childFaults = (outcome: Outcome, parent: CellRecords, child: CellRecords): readonly string[] => {
  const { name } = child.birth.spawned!;
  if (child.end === undefined) return [`it ended before "${name}", which it spawned`];
  const { status, missing, spawned = [] } = outcome;
  const entry = spawned.find(({ cell }) => cell === child.birth.cell);
  const hasCrossed = [...parent.operations.values()].some(
    ({ begin, settle }) => begin.birth?.cell === child.birth.cell && settle?.ok === true,
  );
  const isNamed = status !== 'completed' && missing.includes(name) && typeof entry?.why === 'string';
  const isTrue = entry === undefined || isTrueEntry(entry, child.end.outcome, hasCrossed);
  return [
    ...(isNamed || (hasCrossed && isFinished(child.end.outcome))
      ? []
      : [`it does not say that "${name}" left work unfinished`]),
    ...(isTrue ? [] : [`it says something else about "${name}" than the log`]),
  ];
};

/** It finished its work, or was shut down before it had any. */
const isFinished = ({ status, failure }: Outcome): boolean =>
  status === 'completed' || (status === 'cancelled' && failure?.code === 'shut_down');

/** A parent that was stopped does not know how its agents ended, only that they were stopped with it. */
const isTrueEntry = (entry: SpawnedOutcome, { status, output }: Outcome, hasCrossed: boolean): boolean => {
  if (entry.output === '' && (entry.status === 'cancelled' || !hasCrossed)) return true;
  const isWhole = entry.bytes === undefined;
  const isText = isWhole ? entry.output === output : output.startsWith(entry.output);
  return entry.status === status && isText && (isWhole || entry.bytes === Buffer.byteLength(output));
};
