// Replays a whole run from its log and compares each record with the one today's code would write.
//
//   replay-touches-nothing. Settlements of steps and sleeps, times and random ids come from the log.
//   replay-decides-again. Everything else: which operation begins, its prompt, its hold, what crosses, how a cell ends.
//   replay-deviation-stays-local. A cell that deviates continues as recorded while it can. Otherwise it stops there, and the
//       other cells continue.
import { isSameJson, unknownKind } from '#base';
import type { CellId } from '#base';
import type { Attempt, CrossingContent, Frame, FrameRecord, ReplayDifference } from '#contracts';
import type { Door, UnsealedEntries } from '#core/crossings';
import type { BeginFrame, CellFrameExtras, FollowingCell, LogFollower } from './log-follower.ts';
import { operationKind, operationName, replayedRecord } from './operation-records.ts';
import type { StartedChild } from './live-cell.ts';
import type { InFlightOperation } from './step-runner.ts';

/** What today's code would write at one position in the log. */
type ReplayedFrame = {
  readonly record: FrameRecord;
  readonly attempt?: Attempt | undefined;
  readonly ids?: readonly CellId[] | undefined;
  readonly crossed: UnsealedEntries;
};

type LogPosition = { readonly cell: CellId; readonly agent: string; readonly op: number | null };

export class ReplayComparison implements LogFollower {
  readonly onlyRepeats = true;
  readonly #frames: readonly Frame[];
  readonly #replayed = new Map<number, Frame>();
  readonly #agents = new Map<CellId, string>();
  readonly #differences: ReplayDifference[] = [];
  readonly #ended = new Set<CellId>();
  #active = 0;
  readonly #idle = Promise.withResolvers<void>();

  readonly #pause: (() => Promise<void> | undefined) | undefined;

  /** `pause`: asked again and again whether it is time for others to work. */
  constructor(frames: readonly Frame[], pause?: () => Promise<void> | undefined) {
    this.#frames = frames;
    this.#pause = pause;
    for (const frame of frames) {
      const { record, cell } = frame;
      if (isTakenAsRecorded(frame)) this.#replayed.set(frame.no, frame);
      if (record.type === 'close') this.#ended.add(cell);
      if (record.type === 'settle' && record.ended !== undefined) this.#ended.add(record.ended.cell);
    }
  }

  /** Resolves when every cell has ended or waits for something that is not in the log. */
  get idle(): Promise<void> {
    return this.#idle.promise;
  }

  /** A cell starts. */
  enter(cell: CellId, agent: string): void {
    this.#agents.set(cell, agent);
    this.#active++;
  }

  /** The cell has ended, or waits for what the log does not settle. */
  notifyWaiting(): void {
    if (--this.#active === 0) this.#idle.resolve();
  }

  pause(): Promise<void> | undefined {
    return this.#pause?.();
  }

  follow(cell: FollowingCell, started: InFlightOperation, frame: BeginFrame, extras: CellFrameExtras): boolean {
    const record = replayedRecord(started.operation, started.no, frame, cell);
    this.#compare(frame, { record, ...extras, crossed: cell.run.door.pending });
    cell.run.door.discard();
    return operationKind(frame.record) === started.operation.do && frame.record.name === record.name;
  }

  /** Children run again: their callers have the recorded end, and the new one is compared with it. The log says when they were stopped. */
  continueOperation(cell: FollowingCell, started: InFlightOperation, { at }: BeginFrame): void {
    const { operation } = started;
    if (operation.do !== 'child') return;
    this.enter(operation.cell, operation.agent.name);
    cell.startChild(started as InFlightOperation<StartedChild>, at);
    started.stop = undefined;
  }

  /** Reports the operation, unless the log stops before the cell ends: then more operations are expected. */
  mayBegin({ cellId: cell, agent, run }: FollowingCell, { no: op, operation }: InFlightOperation): boolean {
    const what = `it would continue with ${operationName(operation)}, which is not in the log`;
    if (this.#ended.has(cell)) this.addDifference(null, { cell, agent: agent.name, op }, what);
    run.door.discard();
    return false;
  }

  mayEnd(door: Door, recorded: Frame | undefined, record: FrameRecord): boolean {
    if (recorded !== undefined)
      this.#compare(recorded, { record: withRecordedEnd(record, recorded), crossed: door.pending });
    door.discard();
    this.notifyWaiting();
    return false;
  }

  #compare(frame: Frame, replayed: ReplayedFrame): void {
    const position = this.#positionOf(frame);
    const differences = differencesIn(frame, replayed);
    for (const what of differences) this.addDifference(frame.no, position, what);
    this.#replayed.set(frame.no, differences.length === 0 ? frame : replayedFrame(frame, replayed));
  }

  addDifference(frame: number | null, position: LogPosition, what: string): void {
    this.#differences.push({ frame, ...position, what });
  }

  /** The replayed frames, in the order of the log. Frames that were not reached are missing. */
  frames(): readonly Frame[] {
    return this.#frames.flatMap(({ no }) => this.#replayed.get(no) ?? []);
  }

  /** In the order of the log, including frames that were not reached. */
  differences(): readonly ReplayDifference[] {
    const unreached = this.#frames.flatMap((frame): ReplayDifference[] =>
      this.#replayed.has(frame.no)
        ? []
        : [{ frame: frame.no, ...this.#positionOf(frame), what: 'this record is not reached' }],
    );
    const order = ({ frame }: ReplayDifference): number => frame ?? Infinity;
    return [...this.#differences, ...unreached].sort((one, other) => order(one) - order(other));
  }

  #positionOf({ cell, record }: Frame): LogPosition {
    return { cell, agent: this.#agents.get(cell) ?? 'unknown', op: 'op' in record ? record.op : null };
  }
}

/** Ledger numbers follow the order of the log; on replay another child may have come first. */
const withRecordedEnd = (replayed: FrameRecord, { record }: Frame): FrameRecord => {
  if (replayed.type !== 'settle' || record.type !== 'settle') return replayed;
  const { value, ok, halted } = record;
  return { ...replayed, value: replayed.ok && ok ? value : replayed.value, halted };
};

/** What the outside world or the operator did, and how the run began, is taken as recorded. */
const isTakenAsRecorded = ({ record }: Frame): boolean => {
  switch (record.type) {
    case 'open':
    case 'held':
    case 'again':
    case 'resume':
    case 'cancel':
    case 'give':
    case 'mail':
    case 'delivered':
    case 'ruling':
    case 'fork':
      return true;
    case 'settle':
      return record.ended === undefined;
    case 'begin':
    case 'post':
    case 'close':
      return false;
    default:
      return unknownKind(record, false);
  }
};

const replayedFrame = (frame: Frame, { record, attempt, ids, crossed: { contents } }: ReplayedFrame): Frame => ({
  ...frame,
  record: JSON.parse(JSON.stringify(record)) as FrameRecord,
  ...(attempt === undefined ? {} : { attempt }),
  ...(ids === undefined ? {} : { ids }),
  ...(contents.length === 0 ? {} : { contents: contents.map((one, index) => withRecordedSeq(one, frame, index)) }),
});

/** Ledger numbers follow the order of the log; on replay other cells may come first. */
const withRecordedSeq = (content: CrossingContent, { contents }: Frame, index: number): CrossingContent => ({
  ...content,
  seq: contents?.[index]?.seq ?? content.seq,
});

const differencesIn = (frame: Frame, { record, attempt, ids, crossed }: ReplayedFrame): readonly string[] => {
  const differences: string[] = [];
  const parts = differingKeys(frame.record, record);
  if (parts.length > 0) differences.push(describeDifference(frame.record, record, parts));
  if (frame.attempt?.prompt !== attempt?.prompt) differences.push('its model would be shown a different prompt');
  else if (!isSameJson(frame.attempt, attempt)) differences.push('its attempt would be recorded differently');
  if (!isSameJson(frame.ids ?? [], ids ?? [])) differences.push('it would draw different ids');
  // What was sent depends on which cells were live, so it is taken as recorded.
  if (frame.record.type === 'post') return differences;
  if (!isSameJson(recordedDecisions(frame), replayedDecisions(crossed)))
    differences.push('different crossings would be decided');
  else if (!isSameJson(recordedContents(frame), crossed.contents.map(contentOf)))
    differences.push('different content would cross');
  return differences;
};

const describeDifference = (was: FrameRecord, is: FrameRecord, parts: readonly string[]): string => {
  if (was.type === 'begin' && is.type === 'begin') {
    if (parts.includes('name') || parts.includes('do')) return `it was ${was.name} and is now ${is.name}`;
    if (parts.includes('birth') && was.birth?.digest !== is.birth?.digest)
      return `the definition of "${was.birth?.agent ?? is.name}" has changed`;
    return `${was.name} would begin with a different ${parts.join(', ')}`;
  }
  return was.type === 'close' || is.type === 'close'
    ? 'the run would end differently'
    : 'the cell would end differently';
};

const differingKeys = (was: FrameRecord, is: FrameRecord): readonly string[] => {
  const [one, other] = [was as Record<string, unknown>, is as Record<string, unknown>];
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((key) => !isSameJson(one[key], other[key]));
};

/** Without numbers and times: those also depend on what other cells did meanwhile. */
const recordedDecisions = ({ links, record }: Frame): readonly unknown[] =>
  (links ?? []).flatMap(({ cell, entries }) =>
    entries.flatMap(({ seq: _seq, at: _at, ...entry }) =>
      record.type === 'settle' && entry.kind === 'note' ? [] : [{ cell, ...entry }],
    ),
  );

const replayedDecisions = ({ entries }: UnsealedEntries): readonly unknown[] =>
  entries.map(({ cell, entry: { seq: _seq, at: _at, ...entry } }) => ({ cell, ...entry }));

/** Notes about unread mail are written when a cell ends. They depend on who wrote to it, so they are taken as recorded. */
const recordedContents = ({ contents = [], record }: Frame): readonly unknown[] =>
  contents.filter(({ kind }) => record.type !== 'settle' || kind !== 'note').map(contentOf);

const contentOf = ({ seq: _seq, ...content }: CrossingContent): unknown => content;
