// A whole run made again from its log: what each record would be today, beside what it is.
//
//   Y1. Nothing of the world is touched: settlements of steps and sleeps, times and drawn ids are taken from the log.
//   Y2. All else is decided anew: which operation begins, what it is shown, what it holds, what crosses, how a cell ends.
//   Y3. A cell that decides otherwise goes on as recorded while it can; else it stops there, and the others go on.
import type { CellId } from '#base';
import type { Attempt, CrossingContent, Frame, FrameRecord, Operation, ReplayDifference } from '#contracts';
import type { UnsealedEntries } from '#core/crossings';
import { nameOf } from './begin-record.ts';

/** What code of today makes of one place in the log. */
export type ReplayedFrame = {
  readonly record: FrameRecord;
  readonly attempt?: Attempt | undefined;
  readonly ids?: readonly CellId[] | undefined;
  readonly crossed: UnsealedEntries;
};

export type LogPosition = { readonly cell: CellId; readonly agent: string; readonly op: number | null };

export class ReplayComparison {
  readonly #frames: readonly Frame[];
  readonly #made = new Map<number, Frame>();
  readonly #agents = new Map<CellId, string>();
  readonly #differences: ReplayDifference[] = [];
  readonly #ended = new Set<CellId>();
  #active = 0;
  readonly #idle = Promise.withResolvers<void>();

  constructor(frames: readonly Frame[]) {
    this.#frames = frames;
    for (const frame of frames) {
      const { record, cell } = frame;
      if (isGiven(frame)) this.#made.set(frame.no, frame);
      if (record.type === 'close') this.#ended.add(cell);
      if (record.type === 'settle' && record.ended !== undefined) this.#ended.add(record.ended.cell);
    }
  }

  /** When every cell has ended, or waits for what the log does not have. */
  get idle(): Promise<void> {
    return this.#idle.promise;
  }

  /** A cell begins, or goes on. */
  enter(cell: CellId, agent: string): void {
    this.#agents.set(cell, agent);
    this.#active++;
  }

  /** A cell has ended, or waits for what will not come. */
  leave(): void {
    if (--this.#active === 0) this.#idle.resolve();
  }

  /** Compares what was made at a recorded place. */
  at(frame: Frame, made: ReplayedFrame): void {
    const place = this.#placeOf(frame);
    const told = differencesIn(frame, made);
    for (const what of told) this.addDifference(frame.no, place, what);
    this.#made.set(frame.no, told.length === 0 ? frame : madeFrame(frame, made));
  }

  /** What today's code would do and the log does not have: of a cell that is cut off in the log nothing else is expected. */
  addUnexpected(place: LogPosition, operation: Operation): void {
    if (this.#ended.has(place.cell))
      this.addDifference(null, place, `it would go on with ${nameOf(operation)}, which the log does not have`);
  }

  addDifference(frame: number | null, place: LogPosition, what: string): void {
    this.#differences.push({ frame, ...place, what });
  }

  /** The records as they came out, in the order of the log; what did not come out is missing. */
  frames(): readonly Frame[] {
    return this.#frames.flatMap(({ no }) => this.#made.get(no) ?? []);
  }

  /** In the order of the log, and what was not reached. */
  differences(): readonly ReplayDifference[] {
    const missed = this.#frames.flatMap((frame): ReplayDifference[] =>
      this.#made.has(frame.no) ? [] : [{ frame: frame.no, ...this.#placeOf(frame), what: 'it does not get there' }],
    );
    const order = ({ frame }: ReplayDifference): number => frame ?? Infinity;
    return [...this.#differences, ...missed].sort((one, other) => order(one) - order(other));
  }

  #placeOf({ cell, record }: Frame): LogPosition {
    return { cell, agent: this.#agents.get(cell) ?? 'unknown', op: 'op' in record ? record.op : null };
  }
}

/** What the world or the operator did, or how it began: taken as it is. */
const isGiven = ({ record }: Frame): boolean =>
  record.type === 'open' ||
  record.type === 'again' ||
  record.type === 'resume' ||
  record.type === 'cancel' ||
  record.type === 'give' ||
  record.type === 'mail' ||
  record.type === 'fork' ||
  (record.type === 'settle' && record.ended === undefined);

const madeFrame = (frame: Frame, { record, attempt, ids, crossed: { contents } }: ReplayedFrame): Frame => ({
  ...frame,
  record: JSON.parse(JSON.stringify(record)) as FrameRecord,
  ...(attempt === undefined ? {} : { attempt }),
  ...(ids === undefined ? {} : { ids }),
  ...(contents.length === 0 ? {} : { contents: contents.map((one, index) => numbered(one, frame, index)) }),
});

/** Numbers in the ledger are given out in the order of the log; here other cells may come first. */
const numbered = (content: CrossingContent, { contents }: Frame, index: number): CrossingContent => ({
  ...content,
  seq: contents?.[index]?.seq ?? content.seq,
});

const differencesIn = (frame: Frame, { record, attempt, ids, crossed }: ReplayedFrame): readonly string[] => {
  const told: string[] = [];
  const parts = partsThatDiffer(frame.record, record);
  if (parts.length > 0) told.push(wordsFor(frame.record, record, parts));
  if (frame.attempt?.prompt !== attempt?.prompt) told.push('its model would be shown another prompt');
  else if (!same(frame.attempt, attempt)) told.push('its attempt would be recorded otherwise');
  if (!same(frame.ids ?? [], ids ?? [])) told.push('it would draw other ids');
  // What was sent depends on who was there: that is taken as it is.
  if (frame.record.type === 'post') return told;
  if (!same(recordedDecisions(frame), madeDecisions(crossed))) told.push('something else would cross');
  else if (!same(recordedContents(frame), crossed.contents.map(contentOf))) told.push('other content would cross');
  return told;
};

const wordsFor = (was: FrameRecord, is: FrameRecord, parts: readonly string[]): string => {
  if (was.type === 'begin' && is.type === 'begin') {
    if (parts.includes('name') || parts.includes('do')) return `it was ${was.name} and is now ${is.name}`;
    if (parts.includes('birth') && was.birth?.digest !== is.birth?.digest)
      return `the definition of "${was.birth?.agent ?? is.name}" has changed since`;
    return `${was.name} would begin with another ${parts.join(', ')}`;
  }
  return was.type === 'close' || is.type === 'close' ? 'the run would end otherwise' : 'the cell would end otherwise';
};

const partsThatDiffer = (was: FrameRecord, is: FrameRecord): readonly string[] => {
  const [one, other] = [was as Record<string, unknown>, is as Record<string, unknown>];
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((key) => !same(one[key], other[key]));
};

/** Whatever the order of their keys; what is undefined is not there. */
const same = (one: unknown, other: unknown): boolean => {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  if (Array.isArray(one)) {
    const list = other as readonly unknown[];
    return one.length === list.length && one.every((item, index) => same(item, list[index]));
  }
  const [left, right] = [one as Record<string, unknown>, other as Record<string, unknown>];
  for (const key in left) if (!same(left[key], right[key])) return false;
  for (const key in right) if (right[key] !== undefined && left[key] === undefined) return false;
  return true;
};

/** Without numbers and times: those of a ledger count what other cells did meanwhile. */
const recordedDecisions = ({ links, record }: Frame): readonly unknown[] =>
  (links ?? []).flatMap(({ cell, entries }) =>
    entries.flatMap(({ seq: _seq, at: _at, ...entry }) =>
      record.type === 'settle' && entry.kind === 'note' ? [] : [{ cell, ...entry }],
    ),
  );

const madeDecisions = ({ entries }: UnsealedEntries): readonly unknown[] =>
  entries.map(({ cell, entry: { seq: _seq, at: _at, ...entry } }) => ({ cell, ...entry }));

/** Notes about mail that was not read come with an end: they depend on who wrote, and are taken as they are. */
const recordedContents = ({ contents = [], record }: Frame): readonly unknown[] =>
  contents.filter(({ kind }) => record.type !== 'settle' || kind !== 'note').map(contentOf);

const contentOf = ({ seq: _seq, ...content }: CrossingContent): unknown => content;
