// Is the log whole: frames, definitions, births and operations, each where it must be. Looks before the frame is read.
import { canonicalJson, errorCatalogue, sha256 } from '#base';
import type { Birth, Frame } from '#contracts';
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
        `frame ${newest + 1} should stand here: one is missing or moved`,
      );
    newest = frame.no;
    if (first === undefined && frame.record.type !== 'open')
      problems.add('run-start', problemLocation(frame), 'the first frame does not open the run');
    first ??= frame;
    if (frame.run !== first.run)
      problems.add('frame-run', problemLocation(frame), `the frame is of the run ${frame.run}`);
    verifyDefinitions(frame, problems);
    verifyRecord(frame, records, problems);
  };
};

const verifyDefinitions = (frame: Frame, problems: AuditProblems): void => {
  for (const { digest, definition } of frame.definitions ?? [])
    if (sha256(canonicalJson(definition)) !== digest)
      problems.add('definition-digest', problemLocation(frame), `the definition ${digest} is not what it was`);
};

const verifyRecord = (frame: Frame, records: RunRecords, problems: AuditProblems): void => {
  const { record } = frame;
  const cell = records.cells.get(frame.cell);
  if (cell === undefined && record.type !== 'open')
    problems.add('cell-unknown', problemLocation(frame), 'the cell was not born before this frame');
  if (frame.attempt !== undefined && record.type !== 'begin')
    problems.add('operation-record', problemLocation(frame), 'an attempt without the beginning of its operation');
  switch (record.type) {
    case 'open':
      if (records.root !== undefined) problems.add('run-start', problemLocation(frame), 'the run was already open');
      return verifyBirth(frame, record.birth, { records, parent: undefined, problems });
    case 'begin':
      return cell && verifyBegin(frame, record, { records, cell, problems });
    case 'settle':
      return cell && verifySettle(frame, record, { records, cell, problems });
    case 'again': {
      const operation = cell?.operations.get(record.op);
      if (operation === undefined || operation.settle !== undefined)
        problems.add(
          'operation-unknown',
          problemLocation(frame, frame.cell, record.op),
          'what runs again was not under way',
        );
      return;
    }
    case 'post':
      return cell && verifyPost(frame, record, { records, cell, problems });
    case 'resume':
    case 'cancel':
    case 'mail':
    case 'give':
    case 'fork':
      return;
    case 'close':
      return verifyClose(frame, records, problems);
  }
  problems.add(
    'frame-unreadable',
    problemLocation(frame),
    `there is no record of type ${(record as Frame['record']).type}`,
  );
};

type Post = Extract<Frame['record'], { type: 'post' }>;
type Known = { readonly records: RunRecords; readonly cell: CellRecords; readonly problems: AuditProblems };

const verifyBegin = (frame: Frame, begin: BeginFrameRecord, { records, cell, problems }: Known): void => {
  const where = problemLocation(frame, frame.cell, begin.op);
  const expected = cell.operations.size;
  if (begin.op !== expected) problems.add('operation-number', where, `operation ${expected} should begin here`);
  if (cell.end !== undefined) problems.add('cell-ended', where, 'the cell had ended before this operation');
  for (const fault of recordFaults(frame, begin)) problems.add('operation-record', where, fault);
  if (begin.birth !== undefined) verifyBirth(frame, begin.birth, { records, parent: cell, problems });
};

/** Begins and settles at once. */
const verifyPost = (frame: Frame, { op, name, about, ok, failure }: Post, known: Known): void => {
  verifyBegin(frame, { type: 'begin', op, do: 'step', name, about }, known);
  const isKnown = failure !== undefined && Object.hasOwn(errorCatalogue, failure.code);
  if (!ok && !isKnown)
    known.problems.add(
      'operation-record',
      problemLocation(frame, frame.cell, op),
      'it failed without a failure of the catalogue',
    );
};

const doings = ['step', 'child', 'sleep', 'receive'];
const repeats = [undefined, 'free', 'keyed', 'never'];

/** What a beginning says twice must agree, so that no label can be changed unseen. */
const recordFaults = ({ attempt }: Frame, begin: BeginFrameRecord): readonly string[] => {
  const { about = {}, name } = begin;
  const isModel = begin.do === 'step' && name.startsWith('model:');
  const isTool = begin.do === 'step' && name.startsWith('tool:');
  return [
    ...when(!doings.includes(begin.do), `no operation does ${begin.do}`),
    ...when(!repeats.includes(begin.repeat), `no operation repeats ${begin.repeat}`),
    ...when(isModel !== (attempt !== undefined), 'a model operation and an attempt belong together'),
    ...when(isModel && name !== `model:${attempt?.model}`, `the attempt was at ${attempt?.model}, not at ${name}`),
    ...when(isModel && begin.repeat !== 'free', 'a model attempt may always be repeated'),
    ...when(
      isTool && about['tool'] !== undefined && about['tool'] !== name.slice('tool:'.length),
      'the tool names differ',
    ),
    ...when(begin.do === 'step' && typeof about['step'] === 'number' && !isTool, 'a counted step that is no tool call'),
    ...when(begin.do === 'child' && !name.startsWith('agent:'), 'a child that is no agent'),
    ...when(begin.do !== 'child' && begin.birth !== undefined, 'a cell is born of what is no child operation'),
    ...when(
      begin.do === 'sleep' && (name !== 'sleep' || begin.until === undefined),
      'a sleep without a name or an end',
    ),
  ];
};

const when = (fault: boolean, words: string): readonly string[] => (fault ? [words] : []);

type ParentCheck = {
  readonly records: RunRecords;
  readonly parent: CellRecords | undefined;
  readonly problems: AuditProblems;
};

const verifyBirth = (frame: Frame, birth: Birth, { records, parent, problems }: ParentCheck): void => {
  const where = problemLocation(frame, birth.cell);
  const fault = (words: string) => problems.add('cell-birth', where, words);
  if (records.cells.has(birth.cell)) fault('a cell of that id was born before');
  if (parent === undefined && frame.cell !== birth.cell) fault('the run opens in another cell than is born');
  if (birth.parent !== (parent?.birth.cell ?? null)) fault('its parent is not the cell that began it');
  if (birth.depth !== (parent === undefined ? 0 : parent.birth.depth + 1)) fault(`its depth cannot be ${birth.depth}`);
  const { ids = [], definitions = [] } = frame;
  const draws = ids.length > 0 || (parent !== undefined && parent.drawn.size > 0);
  if (draws && !ids.includes(birth.cell) && parent?.drawn.has(birth.cell) !== true)
    fault('its parent did not draw that id');
  if (!records.definitions.has(birth.digest) && !definitions.some(({ digest }) => digest === birth.digest))
    problems.add('definition-missing', where, `the log does not hold the definition ${birth.digest}`);
  for (const key of ['tokens', 'nanoUsd', 'spawns', 'bytes'] as const) {
    const [cap, ceiling] = [birth.caps[key], parent?.birth.caps[key]];
    if (cap !== undefined && ceiling !== undefined && cap > ceiling)
      problems.add('cap-widened', where, `its cap of ${cap} ${key} is above its parent's ${ceiling}`);
  }
};

const verifySettle = (frame: Frame, settle: SettleFrameRecord, { records, cell, problems }: Known): void => {
  const where = problemLocation(frame, frame.cell, settle.op);
  const operation = cell.operations.get(settle.op);
  if (operation === undefined) return problems.add('operation-unknown', where, 'it settles but never began');
  if (operation.settle !== undefined) problems.add('operation-twice', where, 'it had already settled');
  if (!settle.ok && (settle.failure === undefined || !Object.hasOwn(errorCatalogue, settle.failure.code)))
    problems.add('operation-record', where, 'it failed without a failure of the catalogue');
  const { begin } = operation;
  // A run that stops for good may give up a child without an end of its cell.
  if (begin.birth?.cell !== settle.ended?.cell && (settle.ok || settle.ended !== undefined))
    problems.add('cell-ended', where, 'the cell that ends is not the one that was born of the operation');
  if (settle.ended === undefined) return;
  const ended = records.cells.get(settle.ended.cell);
  if (ended?.end !== undefined) problems.add('cell-ended', where, 'the cell had already ended');
  if (ended !== undefined) verifyDrained(frame, ended, problems);
};

const verifyDrained = (frame: Frame, { birth, operations }: CellRecords, problems: AuditProblems): void => {
  for (const { begin, settle } of operations.values())
    if (settle === undefined)
      problems.add(
        'cell-ended',
        problemLocation(frame, birth.cell, begin.op),
        'the cell ended before this operation settled',
      );
};

const verifyClose = (frame: Frame, { root }: RunRecords, problems: AuditProblems): void => {
  const where = problemLocation(frame);
  if (frame.cell !== root?.birth.cell) problems.add('run-end', where, 'only the root cell ends the run');
  if (root?.end !== undefined) problems.add('run-end', where, 'the run had already ended');
  if (root !== undefined) verifyDrained(frame, root, problems);
};
