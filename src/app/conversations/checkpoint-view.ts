// The content of a cut through a run: the tree of cells with their windows, budgets and ledgers, and the files they have.
//
//   checkpoint-view-by-cut. Derived only from the frames up to the cut, so that the same cut always gives the same view.
//   checkpoint-view-by-segments. A window is described by its segments; their text is in the log, and the prompt hash covers
//       it.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { OrderedItems, unknownKind, zeroHash } from '#base';
import type { CellId, Hash } from '#base';
import type {
  Amounts,
  Birth,
  Checkpoint,
  CheckpointReport,
  Frame,
  FrameRecord,
  RecordOf,
  SegmentRecord,
  WindowLimit,
} from '#contracts';
import { inheritedBy, writtenFiles } from '#core/audit';
import { applyViewChange } from '#core/events';

export type CheckpointCell = {
  readonly cell: CellId;
  readonly parent: CellId | null;
  readonly agent: string;
  readonly depth: number;
  /** `running` until the cell ends. */
  readonly status: string;
  readonly steps: number;
  readonly window: {
    readonly limit: WindowLimit | null;
    readonly bytes: number;
    readonly prompt: Hash;
    readonly segments: readonly SegmentRecord[];
  };
  readonly budget: {
    readonly caps: Amounts;
    readonly deadline: number;
    readonly tokens: number;
    readonly nanoUsd: number | null;
    readonly uncertainTokens: number;
  };
  readonly ledger: { readonly entries: number; readonly hash: Hash };
};

export type FileView = {
  readonly cell: CellId;
  readonly path: string;
  readonly bytes: number;
  readonly sha256: Hash;
  /** Null: an earlier turn of the conversation wrote it, and the store has its content. */
  readonly content: string | null;
};

const framesAtOnce = 200;

/** The cells of a cut, in order of creation; the frames are looked at in pieces, so that others are served too. */
export const readCells = async (frames: readonly Frame[]): Promise<readonly CheckpointCell[]> => {
  const view = new CheckpointView();
  for (const [index, frame] of frames.entries()) {
    view.add(frame);
    if (index % framesAtOnce === framesAtOnce - 1) await nextTurn();
  }
  if (frames.length > framesAtOnce) await nextTurn();
  return view.cells();
};

/** What a cut holds, for people. */
export const reportCheckpoint = async (
  checkpoint: Checkpoint,
  frames: readonly Frame[],
  continues: boolean,
): Promise<CheckpointReport> => ({
  checkpoint,
  continues,
  cells: (await readCells(frames)).map(({ window, budget, ledger, ...cell }) => ({
    ...cell,
    windowBytes: window.bytes,
    tokens: budget.tokens,
    crossings: ledger.entries,
  })),
  files: checkpointFiles(frames).map(({ content: _content, ...file }) => file),
});

type CellDraft = {
  readonly birth: Birth;
  status: string;
  steps: number;
  limit: WindowLimit | null;
  prompt: Hash;
  view: OrderedItems<SegmentRecord>;
  tokens: number;
  nanoUsd: number | null;
  uncertain: number;
  ledger: { entries: number; hash: Hash };
};

/** Built from the frames of a cut, one at a time. */
class CheckpointView {
  readonly #cells = new Map<CellId, CellDraft>();

  add(frame: Frame): void {
    this.#record(frame.cell, frame.record);
    for (const { cell, entries, hash } of frame.links ?? []) {
      const found = this.#cells.get(cell);
      if (found !== undefined) found.ledger = { entries: found.ledger.entries + entries.length, hash };
    }
    const cell = this.#cells.get(frame.cell);
    if (cell === undefined || frame.attempt === undefined) return;
    const { window, prompt, changes } = frame.attempt;
    cell.limit = window;
    cell.prompt = prompt;
    for (const change of changes) applyViewChange(cell.view, change, (segment) => segment);
  }

  /** In order of creation. */
  cells(): readonly CheckpointCell[] {
    return [...this.#cells.values()].map(viewOf);
  }

  #record(id: CellId, record: FrameRecord): void {
    const cell = this.#cells.get(id);
    switch (record.type) {
      case 'open':
        return this.#addCell(record.birth);
      case 'begin':
        if (cell !== undefined && typeof record.about?.['step'] === 'number') cell.steps++;
        if (record.birth !== undefined) this.#addCell(record.birth);
        return;
      case 'settle':
        if (cell !== undefined) addCost(cell, record);
        if (record.ended !== undefined) this.#end(record.ended.cell, record.ended.outcome.status);
        return;
      case 'again':
        if (cell !== undefined) cell.uncertain += record.uncertain.tokens ?? 0;
        return;
      case 'close':
        return this.#end(id, record.outcome.status);
      case 'post':
        if (cell !== undefined && typeof record.about?.['step'] === 'number') cell.steps++;
        return;
      case 'held':
      case 'resume':
      case 'mail':
      case 'delivered':
      case 'ruling':
      case 'fork':
      case 'give':
      case 'cancel':
        return;
      default:
        return unknownKind(record, undefined);
    }
  }

  #addCell(birth: Birth): void {
    if (this.#cells.has(birth.cell)) return;
    this.#cells.set(birth.cell, {
      birth,
      status: 'running',
      steps: 0,
      limit: null,
      prompt: zeroHash,
      view: new OrderedItems(),
      tokens: 0,
      nanoUsd: 0,
      uncertain: 0,
      ledger: { entries: 0, hash: zeroHash },
    });
  }

  #end(id: CellId, status: string): void {
    const cell = this.#cells.get(id);
    if (cell !== undefined) cell.status = status;
  }
}

/** Those that the first cell took over from an earlier turn and has not overwritten, then those that were written. */
export const checkpointFiles = (frames: readonly Frame[]): readonly FileView[] => {
  const written = writtenFiles(frames);
  const root = frames[0]?.cell;
  const own = root === undefined ? undefined : written.get(root)?.files;
  const inherited = root === undefined ? [] : (inheritedBy(frames)?.files ?? []);
  return [
    ...inherited.flatMap((file): readonly FileView[] =>
      own?.has(file.path) === true ? [] : [{ cell: root!, ...file, content: null }],
    ),
    ...[...written].flatMap(([cell, { files }]) =>
      [...files].map(([path, { content, bytes, sha256 }]) => ({ cell, path, bytes, sha256, content })),
    ),
  ];
};

const addCost = (cell: CellDraft, { cost, uncertain }: RecordOf<'settle'>): void => {
  cell.uncertain += uncertain?.tokens ?? 0;
  if (cost === undefined) return;
  cell.tokens += cost.usage.inputTokens + cost.usage.outputTokens;
  cell.nanoUsd = cell.nanoUsd === null || cost.nanoUsd === null ? null : cell.nanoUsd + cost.nanoUsd;
};

const viewOf = (draft: CellDraft): CheckpointCell => {
  const { birth, status, steps, limit, prompt, view, tokens, nanoUsd, uncertain, ledger } = draft;
  const { cell, parent, agent, depth, caps, deadline } = birth;
  const segments = [...view];
  const bytes = segments.reduce((sum, segment) => sum + segment.bytes, 0);
  return {
    cell,
    parent,
    agent,
    depth,
    status,
    steps,
    window: { limit, bytes, prompt, segments },
    budget: { caps, deadline, tokens, nanoUsd, uncertainTokens: uncertain },
    ledger: { ...ledger },
  };
};
