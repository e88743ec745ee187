// A run's log, sorted for judges: read anew from the frames, with no code of the runtime.
import type { CellId } from '#base';
import type { Attempt, Birth, FrameRecord, Outcome } from '#contracts';
import type { DiskLengths, History, RunHistory } from '../history.ts';

export type Begin = Extract<FrameRecord, { type: 'begin' }>;
export type Settle = Extract<FrameRecord, { type: 'settle' }>;

export type OperationFacts = {
  readonly cell: CellFacts;
  readonly begin: Begin;
  readonly beganIn: number;
  readonly attempt: Attempt | undefined;
  settle: Settle | undefined;
  settledIn: number;
};

export type CellFacts = {
  readonly run: RunHistory;
  readonly birth: Birth;
  readonly bornIn: number;
  readonly parent: CellFacts | null;
  readonly goal: string | undefined;
  readonly operations: OperationFacts[];
  endedIn: number;
  outcome: Outcome | null;
};

export type RunFacts = {
  readonly cells: ReadonlyMap<CellId, CellFacts>;
  readonly operations: ReadonlyMap<string, OperationFacts>;
  /** In which frames it was gone on with. */
  readonly resumes: readonly number[];
  readonly cancelledIn: number | null;
};

const known = new WeakMap<RunHistory, RunFacts>();

export const factsOf = (run: RunHistory): RunFacts => {
  let facts = known.get(run);
  if (facts === undefined) known.set(run, (facts = sortFrames(run)));
  return facts;
};

const sortFrames = (run: RunHistory): RunFacts => {
  const cells = new Map<CellId, CellFacts>();
  const operations = new Map<string, OperationFacts>();
  const resumes: number[] = [];
  let cancelledIn: number | null = null;
  run.frames.forEach((frame, no) => {
    const { record } = frame;
    const bear = (birth: Birth): void => {
      const goal = frame.contents?.find(({ cell, kind }) => cell === birth.cell && kind === 'goal')?.content;
      const parent = birth.parent === null ? null : (cells.get(birth.parent) ?? null);
      cells.set(birth.cell, { run, birth, bornIn: no, parent, goal, operations: [], endedIn: Infinity, outcome: null });
    };
    const end = (cell: CellId, outcome: Outcome): void => {
      const ended = cells.get(cell);
      if (ended === undefined || ended.outcome !== null) return;
      ended.endedIn = no;
      ended.outcome = outcome;
    };
    if (record.type === 'open') bear(record.birth);
    if (record.type === 'resume') resumes.push(no);
    if (record.type === 'cancel') cancelledIn ??= no;
    if (record.type === 'close') end(frame.cell, record.outcome);
    if (record.type === 'begin') {
      const cell = cells.get(frame.cell);
      if (record.birth !== undefined) bear(record.birth);
      if (cell === undefined) return;
      const { attempt } = frame;
      const one: OperationFacts = { cell, begin: record, beganIn: no, attempt, settle: undefined, settledIn: Infinity };
      cell.operations.push(one);
      operations.set(`${frame.cell}/${record.op}`, one);
    }
    if (record.type === 'settle') {
      const one = operations.get(`${frame.cell}/${record.op}`);
      if (one !== undefined && one.settle === undefined) {
        one.settle = record;
        one.settledIn = no;
      }
      if (record.ended !== undefined) end(record.ended.cell, record.ended.outcome);
    }
  });
  return { cells, operations, resumes, cancelledIn };
};

/** The cell whose task has these words. */
export const cellByGoal = (history: History, goal: string): CellFacts | undefined => {
  for (const run of history.runs) for (const cell of factsOf(run).cells.values()) if (cell.goal === goal) return cell;
  return undefined;
};

/** The operation that a key names. */
export const operationByKey = (history: History, key: string): OperationFacts | undefined => {
  for (const run of history.runs) {
    const found = factsOf(run).operations.get(key);
    if (found !== undefined) return found;
  }
  return undefined;
};

/** How many frames of a run were on the disk then. */
export const lengthThen = ({ runs }: History, run: RunHistory, onDisk: DiskLengths): number =>
  onDisk[runs.indexOf(run)] ?? 0;

/** The attempt that a request to a model belongs to: the newest of its cell that was on the disk. */
export const attemptThen = (cell: CellFacts, length: number): OperationFacts | undefined =>
  cell.operations.findLast(({ attempt, beganIn }) => attempt !== undefined && beganIn < length);
