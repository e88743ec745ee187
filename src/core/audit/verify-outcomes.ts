// Checks that each outcome matches the log: the figures, the envelope that crossed, and the answer. Runs after the frame is read.
import { isSameJson, publicFailure, readJsonAnswer, unknownKind } from '#base';
import type { Json, CellId } from '#base';
import { decodeEnvelope } from '#contracts';
import type { CrossingContent, CrossingEnd, Envelope, Frame, Outcome, SpawnedOutcome } from '#contracts';
import { problemLocation } from './problems.ts';
import type { AuditProblems } from './problems.ts';
import { answersInJson, checkedJson, endedCell, isAnswerCheck, isLastAnswer, replyText } from './records.ts';
import type { CellRecords, EndedCell, RunRecords } from './records.ts';
import type { Tally } from './tally.ts';

export const verifyOutcomes =
  (records: RunRecords, problems: AuditProblems) =>
  (frame: Frame): void => {
    const { record } = frame;
    if (record.type === 'settle') {
      verifyValue(frame, records, problems);
      verifyCheckedAnswer(frame, records, problems);
    }
    const ended = endedCell(frame);
    const cell = ended && records.cells.get(ended.cell);
    if (ended === undefined || cell?.end === undefined) return;
    const where = problemLocation(frame, ended.cell);
    const wrong = spentFaults(ended.outcome, cell.end.total);
    if (wrong.length > 0) problems.add('outcome-spent', where, `its frames add up to different ${wrong.join(', ')}`);
    const isTeam = records.definitions.get(cell.birth.digest)?.team !== undefined;
    verifyEnvelope(frame, ended, problems);
    // A team's data are its tasks.
    if (!isTeam && !hasItsData(ended.outcome, answersInJson(records.definitions, cell)))
      problems.add('outcome-envelope', where, 'its data does not match its output');
    // A team's outcome is checked with its tasks, a resident's with its work.
    if (!isTeam && cell.birth.spawned === undefined && !hasAnswered(records, cell, ended.outcome))
      problems.add('outcome-answer', where, "its output is not its model's last answer");
  };

const countedKeys = [
  'inputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'outputTokens',
  'steps',
  'spawns',
  'uncertain',
] as const;

/** Time is not compared: it comes from the session's clock and is not a sum. */
const spentFaults = ({ spent }: Outcome, total: Tally): readonly string[] => {
  const nanoUsd = spent.usd === null ? null : Math.round(spent.usd * 1e9);
  return [...countedKeys.filter((key) => spent[key] !== total[key]), ...(nanoUsd === total.nanoUsd ? [] : ['usd'])];
};

/** The result that crossed must be the outcome without the failure's detail and the figures. */
const verifyEnvelope = (frame: Frame, { cell, outcome }: EndedCell, problems: AuditProblems): void => {
  const content = frame.contents?.find(({ kind, from }) => kind === 'result' && from === cell);
  if (content === undefined) return;
  const { status, output, failure, missing, spawned } = outcome;
  const expected: Envelope = {
    status,
    output,
    error: failure === null ? null : publicFailure(failure),
    missing,
    ...expectedSpawned(content.to, spawned),
  };
  const { agent_id: _name, ...crossed } = decodeEnvelope(content.content);
  if (!isSameJson(expected, crossed))
    problems.add('outcome-envelope', problemLocation(frame, cell), 'the outcome differs from the result that crossed');
};

/** An answer in JSON is also given as data, which do not cross with the result. Nothing else is. */
const hasItsData = ({ status, output, data }: Outcome, isJson: boolean): boolean => {
  // A resident that worked only for others has no answer for its caller.
  const isAnswer = (status === 'completed' || status === 'partial') && output !== '';
  if (data === null && !(isJson && isAnswer)) return true;
  const parsed = isJson ? parseJson(output) : undefined;
  return parsed !== undefined && isSameJson(parsed, data);
};

/** What spawned agents wrote goes to whoever asked for the run. A parent's parent hears who did not finish, and how it ended. */
const expectedSpawned = (to: CrossingEnd, spawned: readonly SpawnedOutcome[] = []): Pick<Envelope, 'spawned'> => {
  const left = spawned.filter(({ why }) => why !== null).map(({ agent, status }) => ({ agent, status }));
  const shown = to === 'outside' ? spawned : left;
  return shown.length === 0 ? {} : { spawned: shown };
};

const parseJson = (text: string): Json | undefined => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
};

const hasAnswered = (records: RunRecords, cell: CellRecords, { status, output, failure }: Outcome): boolean => {
  if (status === 'completed' || status === 'partial')
    return output.trim() !== '' && isLastAnswer(records, cell, output);
  if (output === '' || !answersInJson(records.definitions, cell)) return true;
  // It had answered, and was stopped while it waited for the agents that it had spawned.
  if (isLastAnswer(records, cell, output)) return true;
  // What does not fit stays in the cell, except for a plan, which no model is shown.
  return cell.birth.task?.part === 'plan' && failure?.code === 'answer_schema';
};

/** The value must stand in the model's reply. A secret that became readable when the value was written again is removed from it. */
const verifyCheckedAnswer = (frame: Frame, { cells }: RunRecords, problems: AuditProblems): void => {
  const { record } = frame;
  const cell = cells.get(frame.cell);
  const operation = record.type === 'settle' ? cell?.operations.get(record.op) : undefined;
  const json = operation === undefined || !isAnswerCheck(operation) ? undefined : checkedJson(operation);
  if (json === undefined || json.includes('[redacted]')) return;
  if (!readJsonAnswer(replyText(cell?.lastReply)).some(({ text }) => text === json))
    problems.add(
      'operation-record',
      problemLocation(frame, frame.cell, operation!.begin.op),
      "its value is not in the model's reply",
    );
};

/** A child's value must name the entry of its envelope, which crossed in this frame; a sleep has none. Others are checked where they are used. */
const verifyValue = (frame: Frame, { cells }: RunRecords, problems: AuditProblems): void => {
  const { record } = frame;
  if (record.type !== 'settle' || !record.ok) return;
  const begin = cells.get(frame.cell)?.operations.get(record.op)?.begin;
  const where = problemLocation(frame, frame.cell, record.op);
  if (begin === undefined) return;
  switch (begin.do) {
    case 'sleep':
      if (record.value !== null) problems.add('operation-record', where, 'a sleep has no value');
      return;
    case 'child': {
      const seq = (record.value as { readonly crossing?: number } | null)?.crossing;
      const isResult = (one: CrossingContent): boolean =>
        one.cell === frame.cell && one.seq === seq && one.kind === 'result';
      if (frame.contents?.some(isResult) !== true)
        problems.add('operation-record', where, "its value does not name the child's result");
      return;
    }
    case 'step':
    case 'receive':
    case 'ask':
      return;
    default:
      return unknownKind(begin.do, undefined);
  }
};

// Checks that no outcome hides work that spawned agents left unfinished, or adds words to what they wrote. Runs after the frame is
// read.

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
  const hasCrossed = parent.heard.has(child.birth.cell);
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
const unheardFaults = ({ status, spawned = [] }: Outcome, { mailClose }: CellRecords): readonly string[] => {
  const listed = spawned.map(({ cell }) => cell);
  const twice = new Set(listed).size < listed.length ? ['it lists an agent twice'] : [];
  const closed = mailClose?.settle;
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
