// Checks that no outcome hides work that spawned agents left unfinished, or adds words to what they wrote. Runs after the frame is
// read.
import type { CellId } from '#base';
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
    faults.push(...unheardFaults(ended.outcome, cell));
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
  const hasFinished = hasCrossed && isFinished(child.end.outcome);
  const wasStopped = isStopped(status);
  const isTrue = entry === undefined || isTrueEntry(entry, child.end.outcome, { hasCrossed, wasStopped });
  return [
    ...(isNamed || hasFinished ? [] : [`it does not say that "${name}" left work unfinished`]),
    ...(hasFinished && !wasStopped && typeof entry?.why === 'string'
      ? [`it says that "${name}" left work unfinished`]
      : []),
    ...(isTrue ? [] : [`it says something else about "${name}" than the log`]),
  ];
};

/** Agents whose words the session had not read when it ended must be listed, each once. */
const unheardFaults = ({ status, spawned = [] }: Outcome, { operations }: CellRecords): readonly string[] => {
  const listed = spawned.map(({ cell }) => cell);
  const twice = new Set(listed).size < listed.length ? ['it lists an agent twice'] : [];
  const closed = [...operations.values()].findLast(({ begin }) => begin.name === 'mail:close')?.settle;
  if (closed?.ok !== true || isStopped(status)) return twice;
  const { unheard } = closed.value as { readonly unheard: readonly CellId[] };
  return [
    ...twice,
    ...(unheard.every((one) => listed.includes(one)) ? [] : ['it leaves out words that it had not read']),
  ];
};

const isStopped = (status: Outcome['status']): boolean => status !== 'completed' && status !== 'partial';

/** It finished its work, or was shut down before it had any. */
const isFinished = ({ status, failure }: Outcome): boolean =>
  status === 'completed' || (status === 'cancelled' && failure?.code === 'shut_down');

/** A parent that was stopped does not know how its agents ended, only that they were stopped with it. */
const isTrueEntry = (
  entry: SpawnedOutcome,
  { status, output }: Outcome,
  { hasCrossed, wasStopped }: { readonly hasCrossed: boolean; readonly wasStopped: boolean },
): boolean => {
  if (entry.output === '' && (!hasCrossed || (wasStopped && entry.status === 'cancelled'))) return true;
  const isWhole = entry.bytes === undefined;
  const isText = isWhole ? entry.output === output : output.startsWith(entry.output);
  return entry.status === status && isText && (isWhole || entry.bytes === Buffer.byteLength(output));
};
