// Checks that frames, definitions, cells and operations are complete and in order. Runs before the frame is read.
import { canonicalJson, errorCatalogue, readRecordedBy, recordFormatProblem, sha256, unknownKind } from '#base';
import type { BeginKind, Birth, Frame } from '#contracts';
import { problemLocation } from './problems.ts';
import type { AuditProblems } from './problems.ts';
import type { BeginFrameRecord, CellRecords, RunRecords, SettleFrameRecord } from './records.ts';

export const verifyLog = (records: RunRecords, problems: AuditProblems): ((frame: Frame) => void) => {
  let first: Frame | undefined;
  let newest = -1;
  return (frame) => {
    if (frame.no !== newest + 1)
      problems.add(
        'frame-number',
        problemLocation(frame),
        `expected frame ${newest + 1}: a frame is missing or was moved`,
      );
    newest = frame.no;
    if (first === undefined && frame.record.type !== 'open')
      problems.add('run-start', problemLocation(frame), 'the first frame does not open the run');
    first ??= frame;
    if (frame.run !== first.run)
      problems.add('frame-run', problemLocation(frame), `the frame belongs to run ${frame.run}`);
    verifyDefinitions(frame, problems);
    verifyRecord(frame, records, problems);
  };
};

const verifyDefinitions = (frame: Frame, problems: AuditProblems): void => {
  for (const { digest, definition } of frame.definitions ?? [])
    if (sha256(canonicalJson(definition)) !== digest)
      problems.add('definition-digest', problemLocation(frame), `the definition ${digest} was changed`);
};

const verifyRecord = (frame: Frame, records: RunRecords, problems: AuditProblems): void => {
  const { record } = frame;
  const cell = records.cells.get(frame.cell);
  if (cell === undefined && record.type !== 'open')
    problems.add('cell-unknown', problemLocation(frame), 'the cell does not exist before this frame');
  if (frame.attempt !== undefined && record.type !== 'begin')
    problems.add('operation-record', problemLocation(frame), 'an attempt without a begin record for its operation');
  switch (record.type) {
    case 'open': {
      if (records.root !== undefined) problems.add('run-start', problemLocation(frame), 'the run is already open');
      const unreadable = recordFormatProblem(frame.run, readRecordedBy(record));
      if (unreadable !== undefined) problems.add('run-format', problemLocation(frame), unreadable);
      return verifyBirth(frame, record.birth, { records, parent: undefined, problems });
    }
    case 'begin':
      return cell && verifyBegin(frame, record, { records, cell, problems });
    case 'settle':
      return cell && verifySettle(frame, record, { records, cell, problems });
    case 'held':
    case 'ruling':
    case 'again': {
      const operation = cell?.operations.get(record.op);
      if (operation === undefined || operation.settle !== undefined)
        problems.add(
          'operation-unknown',
          problemLocation(frame, frame.cell, record.op),
          'an operation that is retried, gets its hold or is answered was not in flight',
        );
      return;
    }
    case 'post':
      return cell && verifyPost(frame, record, { records, cell, problems });
    case 'resume':
    case 'cancel':
    case 'mail':
    case 'delivered':
    case 'give':
    case 'fork':
      return;
    case 'close':
      return verifyClose(frame, records, problems);
    default: {
      const { type } = unknownKind(record, frame.record);
      problems.add('frame-unreadable', problemLocation(frame), `unknown record type ${type}`);
    }
  }
};

type Post = Extract<Frame['record'], { type: 'post' }>;
type CheckContext = { readonly records: RunRecords; readonly cell: CellRecords; readonly problems: AuditProblems };

const verifyBegin = (frame: Frame, begin: BeginFrameRecord, { records, cell, problems }: CheckContext): void => {
  const where = problemLocation(frame, frame.cell, begin.op);
  const expected = expectedNumber(cell, begin);
  if (begin.op !== expected) problems.add('operation-number', where, `operation ${expected} should begin here`);
  if (cell.end !== undefined) problems.add('cell-ended', where, 'the cell ended before this operation');
  for (const fault of recordFaults(frame, begin)) problems.add('operation-record', where, fault);
  if (begin.birth !== undefined) verifyBirth(frame, begin.birth, { records, parent: cell, problems });
};

/** The session's own operations count from 0; agents that somebody outside started, from -1 downwards. */
const expectedNumber = ({ operations, outsideSpawns }: CellRecords, { op, birth }: BeginFrameRecord): number =>
  op < 0 && birth?.spawned !== undefined ? -1 - outsideSpawns : operations.size - outsideSpawns;

/** A post begins and settles in one record. */
const verifyPost = (frame: Frame, { op, name, about, ok, failure }: Post, context: CheckContext): void => {
  verifyBegin(frame, { type: 'begin', op, do: 'step', name, about }, context);
  const isKnown = failure !== undefined && Object.hasOwn(errorCatalogue, failure.code);
  if (!ok && !isKnown)
    context.problems.add(
      'operation-record',
      problemLocation(frame, frame.cell, op),
      'it failed without an error code from the catalogue',
    );
};

const beginKinds = { step: true, child: true, sleep: true, receive: true, ask: true } satisfies Record<BeginKind, true>;
const repeats = [undefined, 'free', 'keyed', 'never'];

/** Redundant fields of a begin record must agree, so that none can be changed unnoticed. */
const recordFaults = ({ attempt }: Frame, begin: BeginFrameRecord): readonly string[] => {
  const { about = {}, name } = begin;
  const isModel = begin.do === 'step' && name.startsWith('model:');
  const isTool = begin.do === 'step' && name.startsWith('tool:');
  return [
    ...faultIf(!Object.hasOwn(beginKinds, begin.do), `unknown operation kind ${begin.do}`),
    ...faultIf(!repeats.includes(begin.repeat), `unknown repeat value ${begin.repeat}`),
    ...faultIf(isModel !== (attempt !== undefined), 'a model operation and an attempt belong together'),
    ...faultIf(isModel && name !== `model:${attempt?.model}`, `the attempt used ${attempt?.model}, not ${name}`),
    ...faultIf(isModel && begin.repeat !== 'free', 'a model attempt must be marked as always repeatable'),
    ...faultIf(
      isTool && about['tool'] !== undefined && about['tool'] !== name.slice('tool:'.length),
      'the tool names differ',
    ),
    ...faultIf(
      begin.do === 'step' && typeof about['step'] === 'number' && !isTool,
      'a counted step that is not a tool call',
    ),
    ...faultIf(begin.do === 'child' && !name.startsWith('agent:'), 'a child that is not an agent'),
    ...faultIf(
      begin.do !== 'child' && begin.birth !== undefined,
      'a cell is started by an operation that is not a child operation',
    ),
    ...faultIf(
      begin.do === 'sleep' && (name !== 'sleep' || begin.until === undefined),
      'a sleep without a name or an end',
    ),
  ];
};

const faultIf = (fault: boolean, message: string): readonly string[] => (fault ? [message] : []);

type ParentCheck = {
  readonly records: RunRecords;
  readonly parent: CellRecords | undefined;
  readonly problems: AuditProblems;
};

const verifyBirth = (frame: Frame, birth: Birth, { records, parent, problems }: ParentCheck): void => {
  const where = problemLocation(frame, birth.cell);
  const addProblem = (message: string) => problems.add('cell-birth', where, message);
  if (records.cells.has(birth.cell)) addProblem('a cell with that id already exists');
  if (parent === undefined && frame.cell !== birth.cell) addProblem('the run does not open in the cell that it starts');
  if (birth.parent !== (parent?.birth.cell ?? null)) addProblem('its parent is not the cell that started it');
  if (birth.depth !== (parent === undefined ? 0 : parent.birth.depth + 1))
    addProblem(`its depth ${birth.depth} is wrong`);
  const { ids = [], definitions = [] } = frame;
  const draws = ids.length > 0 || (parent !== undefined && parent.drawnIds.size > 0);
  const isOutside = frame.record.type === 'begin' && frame.record.op < 0;
  if (draws && !isOutside && !ids.includes(birth.cell) && parent?.drawnIds.has(birth.cell) !== true)
    addProblem('its parent never drew that id');
  if (!records.definitions.has(birth.digest) && !definitions.some(({ digest }) => digest === birth.digest))
    problems.add('definition-missing', where, `the definition ${birth.digest} is not in the log`);
  for (const key of ['tokens', 'nanoUsd', 'spawns', 'bytes'] as const) {
    const [cap, ceiling] = [birth.caps[key], parent?.birth.caps[key]];
    if (cap !== undefined && ceiling !== undefined && cap > ceiling)
      problems.add('cap-widened', where, `its cap of ${cap} ${key} is above its parent's ${ceiling}`);
  }
};

const verifySettle = (frame: Frame, settle: SettleFrameRecord, { records, cell, problems }: CheckContext): void => {
  const where = problemLocation(frame, frame.cell, settle.op);
  const operation = cell.operations.get(settle.op);
  if (operation === undefined) return problems.add('operation-unknown', where, 'it settled without a begin record');
  if (operation.settle !== undefined) problems.add('operation-twice', where, 'it has already settled');
  if (!settle.ok && (settle.failure === undefined || !Object.hasOwn(errorCatalogue, settle.failure.code)))
    problems.add('operation-record', where, 'it failed without an error code from the catalogue');
  const { begin } = operation;
  // A run that stops for good may abandon a child without ending its cell.
  if (begin.birth?.cell !== settle.ended?.cell && (settle.ok || settle.ended !== undefined))
    problems.add('cell-ended', where, 'the cell that ended is not the one this operation started');
  if (settle.ended === undefined) return;
  const ended = records.cells.get(settle.ended.cell);
  if (ended?.end !== undefined) problems.add('cell-ended', where, 'the cell has already ended');
  if (ended !== undefined) verifyDrained(frame, ended, problems);
};

const verifyDrained = (frame: Frame, { birth, operations }: CellRecords, problems: AuditProblems): void => {
  for (const operation of operations.values())
    if (operation.settle === undefined)
      problems.add(
        'cell-ended',
        problemLocation(frame, birth.cell, operation.begin.op),
        'the cell ended before this operation settled',
      );
};

const verifyClose = (frame: Frame, { root }: RunRecords, problems: AuditProblems): void => {
  const where = problemLocation(frame);
  if (frame.cell !== root?.birth.cell) problems.add('run-end', where, 'only the root cell ends the run');
  if (root?.end !== undefined) problems.add('run-end', where, 'the run has already ended');
  if (root !== undefined) verifyDrained(frame, root, problems);
};
