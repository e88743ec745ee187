// The contents of the live cells of a run, from its frames: what their models are shown is rebuilt from them. Those of a cell are
// forgotten when it ends.
import { OrderedItems, unknownKind } from '#base';
import type { CellId, Hash, Json } from '#base';
import type {
  AgentDefinition,
  Attempt,
  Birth,
  Frame,
  LedgerEntry,
  ModelReply,
  Origin,
  PromptPart,
  RecordOf,
  ReplyPart,
  SegmentRecord,
  Settlement,
  Source,
} from '#contracts';
import { rules } from '#core/rules';
import type { ResolvedSource } from '#core/rules';
import { applyViewChange } from './window-states.ts';

/** A segment in view, with the part that it shows; undefined if its records are not in the log. */
export type VisiblePart = {
  readonly id: number;
  readonly record: SegmentRecord;
  readonly part: PromptPart | undefined;
  readonly sources: readonly ResolvedSource[];
};

type ReceivedCrossing = { readonly entry: LedgerEntry; readonly content: string };

export type CellContents = {
  readonly birth: Birth;
  readonly definition: AgentDefinition | undefined;
  readonly view: OrderedItems<VisiblePart>;
  readonly settled: Map<number, Settlement<Json>>;
  readonly replies: Map<number, readonly ReplyPart[]>;
  /** Requests in flight. */
  readonly attempts: Set<number>;
  readonly received: Map<number, ReceivedCrossing>;
  /** Calls of the newest reply whose operation has not begun. */
  calls: readonly Extract<ReplyPart, { type: 'call' }>[];
};

export class RunContents {
  readonly #cells = new Map<CellId, CellContents>();
  readonly #definitions = new Map<Hash, AgentDefinition>();
  #ended: CellId | undefined;

  cell(cell: CellId): CellContents | undefined {
    return this.#cells.get(cell);
  }

  /** Reads the next frame. A cell that ends in it is kept until the one after. */
  next(frame: Frame): void {
    if (this.#ended !== undefined) this.#cells.delete(this.#ended);
    this.#ended = undefined;
    for (const { digest, definition } of frame.definitions ?? []) this.#definitions.set(digest, definition);
    this.#readRecord(frame);
    const contents = new Map(frame.contents?.map((one) => [`${one.cell}/${one.seq}`, one.content]));
    for (const { cell, entries } of frame.links ?? [])
      for (const entry of entries) {
        const content = contents.get(`${cell}/${entry.seq}`);
        if (entry.way === 'in' && content !== undefined)
          this.#cells.get(cell)?.received.set(entry.seq, { entry, content });
      }
  }

  #readRecord(frame: Frame): void {
    const { record } = frame;
    const cell = this.#cells.get(frame.cell);
    switch (record.type) {
      case 'open':
        return this.#add(record.birth);
      case 'begin':
        if (frame.attempt !== undefined) cell?.attempts.add(record.op);
        return record.birth && this.#add(record.birth);
      case 'settle':
        if (cell !== undefined) settle(cell, frame.at, record);
        this.#ended = record.ended?.cell;
        return;
      case 'post':
        return cell && settle(cell, frame.at, record);
      case 'close':
        this.#ended = frame.cell;
        return;
      case 'held':
      case 'again':
      case 'resume':
      case 'fork':
      case 'give':
      case 'mail':
      case 'delivered':
      case 'ruling':
      case 'cancel':
        return;
      default:
        return unknownKind(record, undefined);
    }
  }

  #add(birth: Birth): void {
    if (this.#cells.has(birth.cell)) return;
    this.#cells.set(birth.cell, {
      birth,
      definition: this.#definitions.get(birth.digest),
      view: new OrderedItems(),
      settled: new Map(),
      replies: new Map(),
      attempts: new Set(),
      received: new Map(),
      calls: [],
    });
  }
}

const settle = (
  cell: CellContents,
  at: number,
  { op, ok, value, failure }: RecordOf<'settle'> | RecordOf<'post'>,
): void => {
  if (!cell.attempts.delete(op)) {
    const settled: Settlement<Json> = ok
      ? { at, ok, value: value ?? null }
      : { at, ok, failure: failure ?? { code: 'defect' } };
    cell.settled.set(op, settled);
    return;
  }
  const parts = ok ? (value as unknown as ModelReply).parts : [];
  cell.replies.set(op, parts);
  if (ok) cell.calls = parts.filter((part) => part.type === 'call');
};

/** Applies the next request to the view. Returns the parts that are new in it, and whether they are all at its end. */
export const applyRequest = (
  cell: CellContents,
  { changes }: Attempt,
): { readonly added: readonly VisiblePart[]; readonly isAppended: boolean } => {
  const added: VisiblePart[] = [];
  for (const change of changes)
    applyViewChange(cell.view, change, (record) => {
      const visible = { id: record.id, record, ...rebuild(cell, record.origin) };
      added.push(visible);
      return visible;
    });
  const isAppended = changes.every((change) => 'add' in change);
  // What was added and taken back before the request was sent was never shown.
  return { added: added.filter((one) => cell.view.get(one.id) === one), isAppended };
};

const rebuild = (cell: CellContents, origin: Origin): Pick<VisiblePart, 'part' | 'sources'> => {
  const sources = origin.of.flatMap((source) => resolve(cell, source) ?? []);
  const rule = Object.hasOwn(rules, origin.rule) ? rules[origin.rule as keyof typeof rules] : undefined;
  if (rule === undefined || sources.length < origin.of.length) return { part: undefined, sources };
  try {
    return { part: rule(sources, origin.with ?? []), sources };
  } catch {
    // Only a changed log has such records; the audit reports them.
    return { part: undefined, sources };
  }
};

const resolve = (cell: CellContents, source: Source): ResolvedSource | undefined => {
  switch (source.from) {
    case 'definition': {
      const { definition } = cell;
      const value =
        source.path === 'prompt' || source.path === 'guidance'
          ? definition?.[source.path]
          : definition?.tools[Number(source.path.slice('tools/'.length))];
      return value === undefined ? undefined : { from: 'definition', value };
    }
    case 'reply': {
      const part = cell.replies.get(source.no)?.[source.part];
      return part && { from: 'reply', part };
    }
    case 'operation': {
      const settled = cell.settled.get(source.no);
      return settled && { from: 'operation', settled };
    }
    case 'crossing': {
      const received = cell.received.get(source.seq);
      return received && { from: 'crossing', kind: received.entry.kind, content: received.content };
    }
    case 'segment': {
      const part = cell.view.get(source.id)?.part;
      return part && { from: 'segment', part };
    }
    default:
      return unknownKind(source, undefined);
  }
};
