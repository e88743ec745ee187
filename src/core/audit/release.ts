// Releases what the checks of a correct log do not ask for again, so that the audit needs memory for living cells only.
//
//   audit-release-unseen. If a check asks for anything that was released, the audit begins again and releases nothing: what it reports
//       never depends on what was released.
//   audit-release-in-view. An operation or a crossing is kept as long as a segment in view is made from it, because another segment that is
//       made from it may take its place.
import { canonicalJson } from '#base';
import type { CellId } from '#base';
import type { Birth, Frame, LedgerEntry, Outcome, ReceiveResult, SegmentRecord, Source } from '#contracts';
import { requireRestart, endedCell } from './records.ts';
import type { CellRecords, OperationRecord, RunRecords } from './records.ts';
import { ReleasingMap } from './releasing-map.ts';
import { addTally, emptyTally } from './tally.ts';
import type { Tally } from './tally.ts';
import type { SegmentChange } from './verify-prompts.ts';

/** The numbers of operations that have settled, and of crossings that are used up. */
type UsedRecords = { readonly operations: Set<number>; readonly received: Set<number> };

type CellUse = {
  /** Since the cell's newest attempt. */
  recent: UsedRecords;
  /** Before that. */
  older: UsedRecords;
  /** A person's messages that were received: they may be shown again with the cell's next work. */
  readonly fromPerson: Set<number>;
  /** How many segments in view are made from each. */
  readonly inView: Record<keyof UsedRecords, Map<number, number>>;
};

/** Cells without attempts, or with very many operations in one turn, do not wait for an attempt. */
const recentMax = 10_000;

export class RecordReleaser {
  readonly #records: RunRecords;
  readonly #onEnd: (cell: CellId) => void;
  readonly #uses = new Map<CellId, CellUse>();
  readonly #names = new Map<string, string>();
  readonly #caps = new Map<string, Birth['caps']>();
  readonly #ends = new Map<string, NonNullable<CellRecords['end']>>();
  /** What cells that were released have in common. */
  readonly #nothing = {
    operations: new Map(),
    received: new Map(),
    given: [],
    children: [],
    heard: new Set<CellId>(),
    own: emptyTally(),
    drawnIds: new Set<CellId>(),
    isReleased: true,
  };

  /** `onEnd`: lets the checks release what they know of a cell. */
  constructor(records: RunRecords, onEnd: (cell: CellId) => void) {
    this.#records = records;
    this.#onEnd = onEnd;
  }

  /** Runs before the frame is read: no frame of a correct log does anything with a cell that was released. */
  checkNotReleased(frame: Frame): void {
    const { cell, record, attempt, contents = [] } = frame;
    const birth = record.type === 'begin' || record.type === 'open' ? record.birth : undefined;
    const named = [
      'op' in record || attempt !== undefined ? cell : undefined,
      birth?.cell,
      birth?.parent,
      endedCell(frame)?.cell,
      ...contents.map(({ kind, from }) => (kind === 'share' ? from : undefined)),
    ];
    if (named.some((one) => this.#records.cells.get(one as CellId)?.isReleased === true)) requireRestart(this.#records);
  }

  /** Segments came into the view of a cell's model, or left it. */
  noteView(cell: CellRecords, { added, removed }: SegmentChange): void {
    const { inView, recent } = this.#useOf(cell);
    for (const [kind, no] of added.flatMap(usedSources)) inView[kind].set(no, (inView[kind].get(no) ?? 0) + 1);
    for (const [kind, no] of removed.flatMap(usedSources)) {
      const left = (inView[kind].get(no) ?? 0) - 1;
      if (left > 0) inView[kind].set(no, left);
      else if (inView[kind].delete(no)) recent[kind].add(no);
    }
  }

  /** Runs after the frame was checked. */
  next(frame: Frame): void {
    this.#note(frame);
    const cell = this.#records.cells.get(frame.cell);
    if (frame.attempt !== undefined && cell !== undefined) this.#releaseOlder(cell);
    const ended = endedCell(frame);
    if (ended !== undefined && frame.record.type === 'settle') this.#releaseCell(ended.cell);
  }

  #note(frame: Frame): void {
    const { settled, cells } = this.#records;
    for (const { cell: id, entries } of frame.links ?? []) {
      const cell = cells.get(id);
      if (cell === undefined || cell.isReleased) continue;
      for (const entry of entries)
        if (entry.way === 'in' && this.#isUsedAtOnce(frame, entry)) this.#useOf(cell).recent.received.add(entry.seq);
    }
    const cell = cells.get(frame.cell);
    if (settled === undefined || cell === undefined) return;
    const use = this.#useOf(cell);
    use.recent.operations.add(settled.begin.op);
    if (settled.begin.do === 'receive' && settled.settle?.ok === true) noteMail(use, cell, settled);
    if (use.recent.operations.size >= recentMax) this.#releaseOlder(cell);
  }

  /** Whether the cell is shown it with its next request, if at all. Mail waits until it is received. */
  #isUsedAtOnce({ record }: Frame, { kind, verdict }: LedgerEntry): boolean {
    if (verdict !== 'granted' || kind === 'note' || kind === 'answer') return true;
    if (kind !== 'result' || record.type !== 'settle' || record.ended === undefined) return false;
    return this.#records.cells.get(record.ended.cell)?.birth.spawned === undefined;
  }

  #useOf({ birth }: CellRecords): CellUse {
    const known = this.#uses.get(birth.cell);
    if (known !== undefined) return known;
    const inView = { operations: new Map(), received: new Map() };
    const use = { recent: nothingUsed(), older: nothingUsed(), fromPerson: new Set<number>(), inView };
    this.#uses.set(birth.cell, use);
    return use;
  }

  /** With an attempt, the model was shown what came before it. One more attempt is waited for, to be safe. */
  #releaseOlder(cell: CellRecords): void {
    const use = this.#useOf(cell);
    const { operations, received } = cell;
    if (operations instanceof ReleasingMap)
      for (const op of use.older.operations)
        if (!use.inView.operations.has(op))
          operations.release(op, ({ settle }: OperationRecord) => settle !== undefined);
    if (received instanceof ReleasingMap)
      for (const seq of use.older.received) if (!use.inView.received.has(seq)) received.release(seq, () => true);
    use.older = use.recent;
    use.recent = nothingUsed();
  }

  /** What others may ask of it is left: who it was, and how it ended. */
  #releaseCell(id: CellId): void {
    const { cells } = this.#records;
    const cell = cells.get(id);
    if (cell?.end === undefined || cell.isReleased || cell.children.some(({ end }) => end === undefined)) return;
    const { birth, nth, drawnIds, end } = cell;
    const left = Object.assign(Object.create(this.#nothing) as CellRecords, {
      birth: this.#sharedBirth(birth),
      nth,
      end,
      ...(drawnIds.size > 0 && { drawnIds }),
    });
    cells.set(id, left);
    for (const child of cell.children) this.#releaseOutcome(child);
    const siblings = birth.parent === null ? [] : (cells.get(birth.parent)?.children ?? []);
    // Whoever spawned it, and a team, still compare their own outcomes with its outcome.
    if (birth.spawned !== undefined || birth.task !== undefined) siblings[siblings.indexOf(cell)] = left;
    else {
      this.#addBelow(birth.parent, end.total);
      siblings.splice(siblings.indexOf(cell), 1);
      this.#releaseOutcome(left);
    }
    this.#uses.delete(id);
    this.#onEnd(id);
  }

  #addBelow(parent: CellId | null, total: Tally): void {
    const above = parent === null ? undefined : this.#records.cells.get(parent);
    if (above !== undefined) addTally((above.below ??= emptyTally()), total);
  }

  #releaseOutcome(cell: CellRecords): void {
    const { status } = cell.end!.outcome;
    const shared = this.#ends.get(status) ?? { at: 0, outcome: { status } as Outcome, total: emptyTally() };
    this.#ends.set(status, shared);
    cell.end = shared;
  }

  /** Cells have much in common, and each was read from a frame of its own. */
  #sharedBirth(birth: Birth): Birth {
    const parent = birth.parent === null ? undefined : this.#records.cells.get(birth.parent);
    return {
      ...birth,
      parent: parent?.birth.cell ?? birth.parent,
      agent: findOrAdd(this.#names, birth.agent, birth.agent),
      digest: findOrAdd(this.#names, birth.digest, birth.digest) as Birth['digest'],
      caps: findOrAdd(this.#caps, canonicalJson(birth.caps), birth.caps),
    };
  }
}

const nothingUsed = (): UsedRecords => ({ operations: new Set(), received: new Set() });

const usedSources = ({ origin }: SegmentRecord): readonly (readonly [keyof UsedRecords, number])[] =>
  origin.of.flatMap((source: Source): readonly (readonly [keyof UsedRecords, number])[] => {
    if (source.from === 'crossing') return [['received', source.seq]];
    return source.from === 'reply' || source.from === 'operation' ? [['operations', source.no]] : [];
  });

/** A person's message that was read during other work is shown again when the next work begins. */
const noteMail = (
  { recent, fromPerson }: CellUse,
  { received }: CellRecords,
  { begin, settle }: OperationRecord,
): void => {
  const { messages, expired = [] } = settle!.value as unknown as ReceiveResult;
  if (begin.name === 'wait') {
    for (const seq of fromPerson) recent.received.add(seq);
    fromPerson.clear();
  }
  for (const seq of [...messages, ...expired])
    (received.get(seq)?.entry.other === 'outside' ? fromPerson : recent.received).add(seq);
};

const findOrAdd = <T>(known: Map<string, T>, key: string, value: T): T => {
  const found = known.get(key);
  if (found === undefined) known.set(key, value);
  return found ?? value;
};
