// A run's log, sorted for judges: read anew from the frames, with no code of the runtime.
import type { CellId } from '#base';
import type { Attempt, Birth, FrameRecord, Outcome } from '#contracts';
import { shownIn } from './prompt-parts.ts';
import type { DiskLengths, History, ModelCall, RunHistory, ToolCall } from '../history.ts';

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
  /** In which frames it was gone on with, after a crash or from a cut. */
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
    if (record.type === 'resume' || record.type === 'fork') resumes.push(no);
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

/** The cell that asked a model: its task has these words, and the process had its run. Of several tries it is the newest. */
export const cellOf = (history: History, call: ModelCall): CellFacts | undefined => {
  if (call.goal === '') return callersIn(history).get(call);
  return hadBy(history, call, (run) => {
    const length = lengthThen(history, run, call.onDisk);
    let found: CellFacts | undefined;
    for (const cell of factsOf(run).cells.values())
      if (cell.goal === call.goal && (found === undefined || cell.bornIn < length)) found = cell;
    return found;
  });
};

/** Calls of twins that were shown the same: which of them it was cannot be told. */
const alike = new WeakSet<ModelCall>();

export const isOfATwin = (call: ModelCall): boolean => alike.has(call);

const callers = new WeakMap<History, ReadonlyMap<ModelCall, CellFacts>>();

const callersIn = (history: History): ReadonlyMap<ModelCall, CellFacts> => {
  let found = callers.get(history);
  if (found === undefined) callers.set(history, (found = findCallers(history)));
  return found;
};

/** Who waits for mail first has no task to be known by: each session is of one cell, whose mail its model is shown. */
const findCallers = (history: History): ReadonlyMap<ModelCall, CellFacts> => {
  const found = new Map<ModelCall, CellFacts>();
  const sessions = Map.groupBy(
    history.modelCalls.filter(({ goal }) => goal === ''),
    ({ session }) => session,
  );
  const taken = new Map<CellFacts, Stretch[]>();
  for (const calls of sessions.values()) {
    const { process, agent } = calls[0]!;
    const stretch: Stretch = { process, from: calls[0]!.at, to: calls.at(-1)!.at };
    const all = history.runs.filter((run) => calls.every((call) => isAtWork(history, run, call)));
    const free = all.flatMap((run) =>
      [...factsOf(run).cells.values()].filter(
        (cell) =>
          cell.goal === undefined &&
          cell.birth.agent === agent &&
          taken.get(cell)?.some((one) => overlap(one, stretch)) !== true,
      ),
    );
    const whole = free.filter((one) => calls.every((call) => wasShown(history, one, call)));
    const [cell, other] = whole.length > 0 ? whole : free.filter((one) => wasShown(history, one, calls[0]!));
    if (cell === undefined) continue;
    if (other !== undefined) for (const call of calls) alike.add(call);
    taken.set(cell, [...(taken.get(cell) ?? []), stretch]);
    for (const call of calls) found.set(call, cell);
  }
  return found;
};

/** When a session asked, and where. */
type Stretch = { readonly process: number; readonly from: number; readonly to: number };

const overlap = (one: Stretch, other: Stretch): boolean =>
  one.process === other.process && one.from <= other.to && other.from <= one.to;

const wasShown = (history: History, cell: CellFacts, call: ModelCall): boolean => {
  const attempt = attemptThen(cell, lengthThen(history, cell.run, call.onDisk));
  return shownIn(cell.run).get(`${cell.birth.cell}/${attempt?.begin.op}`)?.prompt === call.prompt;
};

/** The operation that called a tool: the key names it, and the process had its run. */
export const operationOf = (history: History, call: ToolCall): OperationFacts | undefined => {
  // In a run that goes on from another one a key has the run in front.
  const parts = call.key.split('/');
  const key = parts.slice(-2).join('/');
  const named = parts.length > 2 ? history.runs.find(({ run }) => run === parts[0]) : undefined;
  // What another run has begun before a cut goes on under its key: then it is not at work itself.
  if (named !== undefined && isAtWork(history, named, call)) return factsOf(named).operations.get(key);
  return hadBy(history, call, (run) => factsOf(run).operations.get(key));
};

/** A run that goes on from a cut has the cells of the other one; no process has two such runs at once. */
const hadBy = <T>(history: History, call: Called, find: (run: RunHistory) => T | undefined): T | undefined => {
  let first: T | undefined;
  for (const run of history.runs) {
    const found = find(run);
    if (found === undefined) continue;
    if (run.cut === null && !isContinued(history, run)) return found;
    if (isAtWork(history, run, call)) return found;
    first ??= found;
  }
  return first;
};

type Called = { readonly at: number; readonly process: number };

const isContinued = ({ runs }: History, { run }: RunHistory): boolean => runs.some(({ cut }) => cut?.run === run);

const isAtWork = ({ writings }: History, { run }: RunHistory, { at, process }: Called): boolean =>
  writings.some(
    (one) =>
      one.run === run &&
      one.process === process &&
      (one.begunAt ?? Infinity) <= at &&
      at <= (one.releasedAt ?? Infinity),
  );

/** How many frames of a run were on the disk then. */
export const lengthThen = ({ runs }: History, run: RunHistory, onDisk: DiskLengths): number =>
  onDisk[runs.indexOf(run)] ?? 0;

/** The attempt that a request to a model belongs to: the newest of its cell that was on the disk. */
export const attemptThen = (cell: CellFacts, length: number): OperationFacts | undefined =>
  cell.operations.findLast(({ attempt, beganIn }) => attempt !== undefined && beganIn < length);

/** What lies between a cut and going on from it, if that is between these frames: no deadline counts it. */
export const pausedMs = ({ frames }: RunHistory, from: number, to: number): number =>
  frames
    .slice(from, to)
    .reduce((sum, { record, at }) => (record.type === 'fork' ? sum + Math.max(0, record.from.forkedAt - at) : sum), 0);

/** How long a cell has waited for mail with nothing to do, up to a frame: no deadline counts that either. */
export const waitedMs = ({ run: { frames }, operations, bornIn }: CellFacts, before: number): number => {
  const timeOf = (no: number): number => frames[no]?.at ?? 0;
  const waits = operations.filter(({ begin, settledIn }) => begin.name === 'wait' && settledIn < before);
  return waits.reduce((sum, { beganIn, settledIn }) => {
    const earlier = operations.map((one) => one.settledIn).filter((no) => no < beganIn);
    return sum + timeOf(settledIn) - timeOf(Math.max(bornIn, ...earlier));
  }, 0);
};
