// Splits the log into the records of each cell: the only records its prompts may be made from.
//
//   audit-reads-in-order. At each frame it knows what was recorded so far, and nothing later.
//   audit-records-judge-nothing. A record that does not fit is skipped, and the checks report it.
import { readRecordedBy, unknownKind } from '#base';
import type { CellId, Hash, Json } from '#base';
import type {
  Attempt,
  Birth,
  AgentDefinition,
  Frame,
  LedgerEntry,
  Outcome,
  ModelReply,
  ReplyPart,
  Settlement,
} from '#contracts';
import { holdRules, versionsByFormat } from '#core/rules';
import type { HoldRules } from '#core/rules';
import { ReleasingMap } from './releasing-map.ts';
import { addBegin, addSettle, addUncertain, emptyTally, sumTally } from './tally.ts';
import type { BeginFrameRecord, SettleFrameRecord, Tally } from './tally.ts';

export type { BeginFrameRecord, SettleFrameRecord } from './tally.ts';

export type OperationRecord = {
  /** Its place among those of its cell. */
  readonly nth: number;
  readonly begin: BeginFrameRecord;
  readonly beganAt: number;
  readonly attempt: Attempt | undefined;
  settle: SettleFrameRecord | undefined;
  settledAt: number;
};

type ReceivedContent = {
  readonly entry: LedgerEntry;
  readonly content: string | undefined;
  /** The sender's newest reply when it crossed: where its text comes from. Undefined if nobody's model wrote it. */
  readonly reply: OperationRecord | undefined;
};

/** What all operations of a cell come to. */
type OperationSums = { workedMs: number; waitedMs: number; newestTurn: number; modelTimedOut: boolean };

export type CellRecords = {
  readonly birth: Birth;
  /** Its place among the cells of the run. */
  readonly nth: number;
  readonly startedAt: number;
  readonly children: CellRecords[];
  readonly operations: Map<number, OperationRecord>;
  readonly sums: OperationSums;
  /** How many agents somebody outside started under it. Their operations have negative numbers. */
  outsideSpawns: number;
  readonly received: Map<number, ReceivedContent>;
  /** Of these, history and tools of a client: they may be used at any time. */
  readonly given: ReceivedContent[];
  drawnIds: Set<CellId>;
  /** Those that it spawned whose results crossed to it. */
  readonly heard: Set<CellId>;
  /** The operation with which it closed its mailbox. */
  mailClose: OperationRecord | undefined;
  readonly own: Tally;
  /** What those children used that were released. */
  below: Tally | undefined;
  lastReply: OperationRecord | undefined;
  /** The JSON value that was found in that reply, as text. */
  lastJson: string | undefined;
  end: { readonly at: number; readonly outcome: Outcome; readonly total: Tally } | undefined;
  /** It has ended, and only what others may ask of it is left. */
  readonly isReleased: boolean;
};

export type RunRecords = {
  /** Whether what is over is released. */
  readonly releases: boolean;
  /** A check needed what had been released, so the audit begins again and releases nothing. */
  needsRestart: boolean;
  readonly cells: Map<CellId, CellRecords>;
  readonly definitions: Map<Hash, AgentDefinition>;
  root: CellRecords | undefined;
  /** The operation that the newest frame settled. */
  settled: OperationRecord | undefined;
  /** Whose request it was, if it came over a server. */
  caller: string | undefined;
  /** How the run estimated its requests; undefined if its format is unknown. */
  holds: HoldRules | undefined;
};

/** The cell that a frame ends. */
export type EndedCell = { readonly cell: CellId; readonly outcome: Outcome };

export const endedCell = ({ cell, record }: Frame): EndedCell | undefined => {
  if (record.type === 'close') return { cell, outcome: record.outcome };
  return record.type === 'settle' ? record.ended : undefined;
};

export const startRecords = (releases = false): RunRecords => ({
  releases,
  needsRestart: false,
  cells: new Map(),
  definitions: new Map(),
  root: undefined,
  settled: undefined,
  caller: undefined,
  holds: undefined,
});

/** Called when a check needs what was released. */
export const requireRestart = (records: RunRecords): never => {
  records.needsRestart = true;
  throw new Error('A check needs what has been released.');
};

export const newMap = <V>(records: RunRecords): Map<number, V> =>
  records.releases ? new ReleasingMap(() => requireRestart(records)) : new Map();

/** Reads the next frame of the run. */
export const readFrame = (records: RunRecords, frame: Frame): void => {
  for (const { digest, definition } of frame.definitions ?? []) records.definitions.set(digest, definition);
  records.settled = undefined;
  const cell = records.cells.get(frame.cell);
  // Cells that were released share an empty set.
  if (frame.ids !== undefined && cell?.isReleased === true) cell.drawnIds = new Set(cell.drawnIds);
  for (const id of frame.ids ?? []) cell?.drawnIds.add(id);
  readRecord(records, frame, cell);
  readLinks(records, frame);
};

const readRecord = (records: RunRecords, frame: Frame, cell: CellRecords | undefined): void => {
  const { record } = frame;
  switch (record.type) {
    case 'open': {
      const { format } = readRecordedBy(record) ?? {};
      if (format !== undefined && Object.hasOwn(versionsByFormat, format)) records.holds = holdRules(format);
      records.root ??= createCell(records, record.birth, frame.at);
      records.caller = record.caller;
      return;
    }
    case 'begin':
      return cell && readBegin(records, frame, { cell, begin: record });
    case 'settle':
      return readSettle(records, frame, { cell, settle: record });
    case 'again':
      return cell && addUncertain(cell.own, record.uncertain);
    case 'close':
      return endCell(cell, frame.at, record.outcome);
    case 'post': {
      const { op, name, about, ok, value, failure } = record;
      if (cell !== undefined)
        readBegin(records, frame, { cell, begin: { type: 'begin', op, do: 'step', name, about } });
      return readSettle(records, frame, { cell, settle: { type: 'settle', op, ok, value, failure } });
    }
    case 'held':
    case 'resume':
    case 'cancel':
    case 'mail':
    case 'delivered':
    case 'ruling':
    case 'give':
    case 'fork':
      return;
    default:
      return unknownKind(record, undefined);
  }
};

const createCell = (records: RunRecords, birth: Birth, at: number): CellRecords | undefined => {
  if (records.cells.has(birth.cell)) return undefined;
  const parent = birth.parent === null ? undefined : records.cells.get(birth.parent);
  const cell: CellRecords = {
    birth,
    nth: records.cells.size,
    startedAt: at,
    children: [],
    operations: newMap(records),
    sums: { workedMs: 0, waitedMs: 0, newestTurn: 0, modelTimedOut: false },
    outsideSpawns: 0,
    received: newMap(records),
    given: [],
    drawnIds: new Set(),
    heard: new Set(),
    mailClose: undefined,
    own: emptyTally(),
    below: undefined,
    lastReply: undefined,
    lastJson: undefined,
    end: undefined,
    isReleased: false,
  };
  records.cells.set(birth.cell, cell);
  parent?.children.push(cell);
  return cell;
};

const readBegin = (
  records: RunRecords,
  frame: Frame,
  { cell, begin }: { readonly cell: CellRecords; readonly begin: BeginFrameRecord },
): void => {
  if (cell.operations.has(begin.op)) return;
  const { at: beganAt, attempt } = frame;
  const operation = { nth: cell.operations.size, begin, beganAt, attempt, settle: undefined, settledAt: 0 };
  cell.operations.set(begin.op, operation);
  if (begin.name === 'mail:close') cell.mailClose = operation;
  if (attempt !== undefined && attempt.turn > cell.sums.newestTurn) cell.sums.newestTurn = attempt.turn;
  addBegin(cell.own, begin);
  if (begin.birth !== undefined) createCell(records, begin.birth, beganAt);
  if (begin.op < 0) cell.outsideSpawns++;
};

const readSettle = (
  records: RunRecords,
  frame: Frame,
  { cell, settle }: { readonly cell: CellRecords | undefined; readonly settle: SettleFrameRecord },
): void => {
  const operation = cell?.operations.get(settle.op);
  if (cell !== undefined && operation !== undefined && operation.settle === undefined) {
    operation.settle = settle;
    operation.settledAt = frame.at;
    records.settled = operation;
    addSettle(cell.own, settle);
    addSums(records, cell, operation);
    readAnswer(cell, operation);
  }
  if (settle.ended !== undefined) endCell(records.cells.get(settle.ended.cell), frame.at, settle.ended.outcome);
};

const addSums = (
  { cells }: RunRecords,
  { sums, heard }: CellRecords,
  { begin, beganAt, settle, settledAt }: OperationRecord,
): void => {
  sums.workedMs += settle?.ms ?? 0;
  if (begin.do === 'receive') sums.waitedMs += settledAt - beganAt;
  if (settle?.failure?.code === 'model_timeout') sums.modelTimedOut = true;
  const child = begin.birth === undefined || settle?.ok !== true ? undefined : cells.get(begin.birth.cell);
  if (child?.birth.spawned !== undefined) heard.add(child.birth.cell);
};

const readAnswer = (cell: CellRecords, operation: OperationRecord): void => {
  if (operation.settle?.ok !== true) return;
  if (operation.attempt !== undefined) {
    cell.lastReply = operation;
    cell.lastJson = undefined;
  } else if (isAnswerCheck(operation)) cell.lastJson = checkedJson(operation);
};

export const isAnswerCheck = ({ begin }: OperationRecord): boolean => begin.name === 'check:answer';

/** The value that a check of an answer found in it, as text. */
export const checkedJson = ({ settle }: OperationRecord): string | undefined => {
  const { json } = (settle?.value ?? {}) as { readonly json?: unknown };
  return typeof json === 'string' ? json : undefined;
};

const endCell = (cell: CellRecords | undefined, at: number, outcome: Outcome): void => {
  if (cell !== undefined) cell.end ??= { at, outcome, total: sumTally(cell, (child) => child.end?.total) };
};

const readLinks = (records: RunRecords, frame: Frame): void => {
  const contents = new Map(frame.contents?.map((one) => [`${one.cell}/${one.seq}`, one.content]));
  // The goal of an agent that somebody outside started is not what the cell above it said.
  const isFromOutside = frame.record.type === 'begin' && frame.record.op < 0;
  for (const link of frame.links ?? []) {
    const cell = records.cells.get(link.cell);
    for (const entry of link.entries) {
      if (entry.way !== 'in' || cell === undefined || cell.isReleased || cell.received.has(entry.seq)) continue;
      const { other, seq } = entry;
      const reply = isFromOutside || other === 'outside' ? undefined : records.cells.get(other)?.lastReply;
      const received = { entry, content: contents.get(`${link.cell}/${seq}`), reply };
      cell.received.set(seq, received);
      if (entry.kind === 'history' || entry.kind === 'tools') cell.given.push(received);
    }
  }
};

/** The settlement as the session received it. */
export const toSettlement = ({ settle, settledAt: at }: OperationRecord): Settlement<Json> | undefined => {
  if (settle === undefined) return undefined;
  return settle.ok
    ? { at, ok: true, value: settle.value ?? null }
    : { at, ok: false, failure: settle.failure ?? { code: 'defect' } };
};

/** The parts of a model's settled reply; empty if there is none. */
export const replyParts = ({ attempt, settle }: OperationRecord): readonly ReplyPart[] =>
  attempt !== undefined && settle?.ok === true ? (settle.value as unknown as ModelReply).parts : [];

/** The text of a model's settled reply; empty if there is none. */
export const replyText = (operation: OperationRecord | undefined): string =>
  (operation === undefined ? [] : replyParts(operation))
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('');

/** Whether the cell's model gave this answer last. If the agent answers in JSON, only the value in its reply is the answer. */
export const isLastAnswer = ({ definitions }: RunRecords, cell: CellRecords, text: string): boolean =>
  answersInJson(definitions, cell) ? text === cell.lastJson : holdsText(replyText(cell.lastReply), text);

export const answersInJson = (definitions: RunRecords['definitions'], { birth }: CellRecords): boolean =>
  definitions.get(birth.digest)?.output.format === 'json';

/** Ignores white space, because an answer is trimmed and joined from its parts. */
export const holdsText = (text: string, part: string): boolean => withoutSpaces(text).includes(withoutSpaces(part));

const withoutSpaces = (text: string): string => text.replace(/\s+/gu, '');
