// The questions that cells have asked, as long as calls may depend on them.
import type { CellId, Hash } from '#base';
import type { Frame, Question, QuestionResult, RecordOf } from '#contracts';
import { requireRestart } from './records.ts';
import type { RunRecords } from './records.ts';

export type RulingFrame = Frame & { readonly record: RecordOf<'ruling'> };

export type AskRecords = {
  readonly question: Question;
  readonly until: number;
  readonly digest: Hash;
  readonly rulings: RulingFrame[];
  result: QuestionResult | null;
  /** The hash of the arguments that were allowed. */
  allowed: Hash | null;
  usedBy: number | null;
  /** It was allowed for the run that was forked, and its call had not begun there. */
  forked: boolean;
};

/** The questions of a cell, by operation. */
type CellQuestions = {
  readonly asks: Map<number, AskRecords>;
  /** Those that were released: their numbers, and the hashes of the arguments that were allowed. */
  readonly released: Set<number>;
  readonly allowed: Set<Hash>;
  /** Those that had been answered when the cell's newest attempt began. */
  answered: readonly number[];
};

export class AskedQuestions {
  readonly #records: RunRecords;
  readonly #cells = new Map<CellId, CellQuestions>();

  constructor(records: RunRecords) {
    this.#records = records;
  }

  add(cell: CellId, op: number, asked: Pick<AskRecords, 'question' | 'until' | 'digest'>): void {
    const questions = this.#cells.get(cell) ?? {
      asks: new Map(),
      released: new Set(),
      allowed: new Set(),
      answered: [],
    };
    this.#cells.set(cell, questions);
    questions.asks.set(op, { ...asked, rulings: [], result: null, allowed: null, usedBy: null, forked: false });
  }

  find(cell: CellId, op: number): AskRecords | undefined {
    const { asks, released } = this.#cells.get(cell) ?? {};
    if (released?.has(op) === true) requireRestart(this.#records);
    return asks?.get(op);
  }

  wasAllowed(cell: CellId, args: Hash): boolean {
    const { asks, allowed } = this.#cells.get(cell) ?? {};
    return allowed?.has(args) === true || [...(asks?.values() ?? [])].some((ask) => ask.allowed === args);
  }

  all(): readonly AskRecords[] {
    return [...this.#cells.values()].flatMap(({ asks }) => [...asks.values()]);
  }

  /** Runs with each attempt: the calls that were asked about belong to the turns before. */
  releaseAnswered(cell: CellId): void {
    const questions = this.#cells.get(cell);
    if (questions === undefined || !this.#records.releases) return;
    const { asks, released, allowed } = questions;
    for (const op of questions.answered) {
      const hash = asks.get(op)?.allowed ?? null;
      if (hash !== null) allowed.add(hash);
      asks.delete(op);
      released.add(op);
    }
    questions.answered = [...asks].flatMap(([op, { result }]) => (result === null ? [] : [op]));
  }

  /** The cell has ended. */
  release(cell: CellId): void {
    this.#cells.delete(cell);
  }
}
