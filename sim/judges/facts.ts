// The facts of a run's log for judges: computed from the frames, without code of the runtime.
import type { CellId } from '#base';
import type { Attempt, Birth, RecordOf, Outcome } from '#contracts';
import { rebuiltPrompts } from './prompt-parts.ts';
import type { DiskLengths, History, ModelCall, RunHistory, ToolCall } from '../history.ts';

export type Begin = RecordOf<'begin'>;
export type Settle = RecordOf<'settle'>;

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
  readonly createdIn: number;
  readonly parent: CellFacts | null;
  readonly goal: string | undefined;
  readonly operations: OperationFacts[];
  endedIn: number;
  outcome: Outcome | null;
};

export type RunFacts = {
  readonly cells: ReadonlyMap<CellId, CellFacts>;
  readonly operations: ReadonlyMap<string, OperationFacts>;
  /** The frames in which it was resumed or forked. */
  readonly resumes: readonly number[];
  readonly cancelledIn: number | null;
};

const known = new WeakMap<RunHistory, RunFacts>();

export const runFacts = (run: RunHistory): RunFacts => {
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
    const addCell = (birth: Birth): void => void cells.set(birth.cell, newCell(run, no, birth, cells));
    const end = (cell: CellId, outcome: Outcome): void => {
      const ended = cells.get(cell);
      if (ended === undefined || ended.outcome !== null) return;
      ended.endedIn = no;
      ended.outcome = outcome;
    };
    switch (record.type) {
      case 'open':
        return addCell(record.birth);
      case 'resume':
      case 'fork':
        return void resumes.push(no);
      case 'cancel':
        return void (cancelledIn ??= no);
      case 'close':
        return end(frame.cell, record.outcome);
      case 'begin': {
        const cell = cells.get(frame.cell);
        if (record.birth !== undefined) addCell(record.birth);
        if (cell === undefined) return;
        const { attempt } = frame;
        const one: OperationFacts = {
          cell,
          begin: record,
          beganIn: no,
          attempt,
          settle: undefined,
          settledIn: Infinity,
        };
        cell.operations.push(one);
        return void operations.set(`${frame.cell}/${record.op}`, one);
      }
      case 'settle': {
        const one = operations.get(`${frame.cell}/${record.op}`);
        if (one !== undefined && one.settle === undefined) {
          one.settle = record;
          one.settledIn = no;
        }
        if (record.ended !== undefined) end(record.ended.cell, record.ended.outcome);
        return;
      }
      // Other judges read these.
      case 'held':
      case 'again':
      case 'give':
      case 'post':
      case 'mail':
      case 'delivered':
      case 'ruling':
        return;
      default:
        return record satisfies never;
    }
  });
  return { cells, operations, resumes, cancelledIn };
};

const newCell = (run: RunHistory, no: number, birth: Birth, cells: ReadonlyMap<CellId, CellFacts>): CellFacts => ({
  run,
  birth,
  createdIn: no,
  parent: birth.parent === null ? null : (cells.get(birth.parent) ?? null),
  goal: run.frames[no]?.contents?.find(({ cell, kind }) => cell === birth.cell && kind === 'goal')?.content,
  operations: [],
  endedIn: Infinity,
  outcome: null,
});

/** The cell that called a model: it has this goal, and the process owned its run. Of several tries, it is the latest. */
export const callingCell = (history: History, call: ModelCall): CellFacts | undefined => {
  if (call.goal === '') return callersOf(history).get(call);
  return findInOwnedRun(history, call, (run) => {
    const length = framesOnDisk(history, run, call.onDisk);
    let found: CellFacts | undefined;
    for (const cell of runFacts(run).cells.values())
      if (cell.goal === call.goal && (found === undefined || cell.createdIn < length)) found = cell;
    return found;
  });
};

/** Calls of two cells with identical prompts; the caller cannot be determined. */
const ambiguousCalls = new WeakSet<ModelCall>();

export const hasAmbiguousCaller = (call: ModelCall): boolean => ambiguousCalls.has(call);

const callers = new WeakMap<History, ReadonlyMap<ModelCall, CellFacts>>();

const callersOf = (history: History): ReadonlyMap<ModelCall, CellFacts> => {
  let found = callers.get(history);
  if (found === undefined) callers.set(history, (found = findCallers(history)));
  return found;
};

/** A cell that starts by waiting for mail has no goal. Its session is identified by its prompts, which show the cell's mail. */
const findCallers = (history: History): ReadonlyMap<ModelCall, CellFacts> => {
  const found = new Map<ModelCall, CellFacts>();
  const sessions = Map.groupBy(
    history.modelCalls.filter(({ goal }) => goal === ''),
    ({ session }) => session,
  );
  const taken = new Map<CellFacts, SessionSpan[]>();
  for (const calls of sessions.values()) {
    const { process, agent } = calls[0]!;
    const stretch: SessionSpan = { process, from: calls[0]!.at, to: calls.at(-1)!.at };
    const all = history.runs.filter((run) => calls.every((call) => isWriting(history, run, call)));
    const free = all.flatMap((run) =>
      [...runFacts(run).cells.values()].filter(
        (cell) =>
          cell.goal === undefined &&
          cell.birth.agent === agent &&
          taken.get(cell)?.some((one) => overlap(one, stretch)) !== true,
      ),
    );
    const whole = free.filter((one) => calls.every((call) => matchesPrompt(history, one, call)));
    const [cell, other] = whole.length > 0 ? whole : free.filter((one) => matchesPrompt(history, one, calls[0]!));
    if (cell === undefined) continue;
    if (other !== undefined) for (const call of calls) ambiguousCalls.add(call);
    taken.set(cell, [...(taken.get(cell) ?? []), stretch]);
    for (const call of calls) found.set(call, cell);
  }
  return found;
};

/** When a session called its model, and in which process. */
type SessionSpan = { readonly process: number; readonly from: number; readonly to: number };

const overlap = (one: SessionSpan, other: SessionSpan): boolean =>
  one.process === other.process && one.from <= other.to && other.from <= one.to;

const matchesPrompt = (history: History, cell: CellFacts, call: ModelCall): boolean => {
  const attempt = attemptOnDisk(cell, framesOnDisk(history, cell.run, call.onDisk));
  return rebuiltPrompts(cell.run).get(`${cell.birth.cell}/${attempt?.begin.op}`)?.prompt === call.prompt;
};

/** The operation that called a tool: its key names it, and the process owned its run. */
export const callingOperation = (history: History, call: ToolCall): OperationFacts | undefined => {
  const key = call.key.split('/').slice(-2).join('/');
  return findInOwnedRun(history, call, (run) => {
    const operation = runFacts(run).operations.get(key);
    // An operation that the origin began, and lost in a crash, may have the number of a different one in the fork.
    return operation !== undefined && stepKey(run, key, operation.beganIn) === call.key ? operation : undefined;
  });
};

/** The key under which an operation must be called: in a fork, that of the run in which it began. */
const stepKey = ({ run, frames }: RunHistory, key: string, beganIn: number): string => {
  const forks = frames.flatMap(({ no, record }) => (record.type === 'fork' ? [{ no, from: record.from.run }] : []));
  const next = forks.findIndex(({ no }) => no > beganIn);
  const began = next < 0 ? run : forks[next]!.from;
  return next === 0 || forks.length === 0 ? key : `${began}/${key}`;
};

/** A forked run has the same cells as its origin; no process works on both at the same time. */
const findInOwnedRun = <T>(
  history: History,
  call: CallMoment,
  find: (run: RunHistory) => T | undefined,
): T | undefined => {
  let first: T | undefined;
  for (const run of history.runs) {
    const found = find(run);
    if (found === undefined) continue;
    if (run.forkedFrom === null && !isForked(history, run)) return found;
    if (isWriting(history, run, call)) return found;
    first ??= found;
  }
  return first;
};

type CallMoment = { readonly at: number; readonly process: number };

const isForked = ({ runs }: History, { run }: RunHistory): boolean =>
  runs.some(({ forkedFrom }) => forkedFrom?.run === run);

const isWriting = ({ writings }: History, { run }: RunHistory, { at, process }: CallMoment): boolean =>
  writings.some(
    (one) =>
      one.run === run &&
      one.process === process &&
      (one.begunAt ?? Infinity) <= at &&
      at <= (one.releasedAt ?? Infinity),
  );

/** The number of frames of a run on the disk at that moment. */
export const framesOnDisk = ({ runs }: History, run: RunHistory, onDisk: DiskLengths): number =>
  onDisk[runs.indexOf(run)] ?? 0;

/** The attempt that a model request belongs to: the latest of its cell on the disk. */
export const attemptOnDisk = (cell: CellFacts, length: number): OperationFacts | undefined =>
  cell.operations.findLast(({ attempt, beganIn }) => attempt !== undefined && beganIn < length);

/** The true cost of a call, without what a dense request cost beyond its hold. */
export const heldCost = ({ tokens, nanoUsd, dense }: ModelCall, hold: Begin['hold']) => ({
  tokens: dense ? Math.min(tokens, hold?.tokens ?? Infinity) : tokens,
  nanoUsd: dense ? Math.min(nanoUsd, hold?.nanoUsd ?? Infinity) : nanoUsd,
});

/** The time between the last kept frame and the fork, if the fork is between these frames. Deadlines do not count it. */
export const pausedMs = ({ frames }: RunHistory, from: number, to: number): number =>
  frames
    .slice(from, to)
    .reduce((sum, { record, at }) => (record.type === 'fork' ? sum + Math.max(0, record.from.forkedAt - at) : sum), 0);

/** How long a cell has waited for mail, up to a frame. Deadlines do not count that either. */
export const waitedMs = ({ run: { frames }, operations, createdIn }: CellFacts, before: number): number => {
  const timeOf = (no: number): number => frames[no]?.at ?? 0;
  const waits = operations.filter(({ begin, settledIn }) => begin.name === 'wait' && settledIn < before);
  return waits.reduce((sum, { beganIn, settledIn }) => {
    const earlier = operations.map((one) => one.settledIn).filter((no) => no < beganIn);
    return sum + timeOf(settledIn) - timeOf(Math.max(createdIn, ...earlier));
  }, 0);
};
