// The problems an audit can report, each with its own code and location.
import type { CellId } from '#base';
import type { AuditProblem, Frame } from '#contracts';

export type ProblemCode =
  // The log
  | 'record-damaged'
  | 'frame-unreadable'
  | 'frame-number'
  | 'frame-run'
  | 'run-start'
  | 'run-format'
  | 'run-end'
  | 'definition-digest'
  | 'definition-missing'
  | 'cell-unknown'
  | 'cell-birth'
  | 'cell-ended'
  | 'operation-number'
  | 'operation-unknown'
  | 'operation-twice'
  | 'operation-record'
  // The ledger
  | 'chain-previous'
  | 'chain-hash'
  | 'chain-seq'
  | 'content-missing'
  | 'content-entry'
  | 'content-changed'
  | 'entry-size'
  | 'crossing-unmatched'
  | 'crossing-ends'
  | 'crossing-grant'
  | 'crossing-content'
  | 'goal-missing'
  | 'task-given'
  // The questions
  | 'question-asked'
  | 'question-ruling'
  | 'question-call'
  // The prompts
  | 'prompt-view'
  | 'prompt-source'
  | 'prompt-call'
  | 'prompt-part'
  | 'prompt-hash'
  | 'prompt-bytes'
  | 'prompt-turn'
  // Outputs, accounts, outcomes
  | 'output-missing'
  | 'output-changed'
  | 'output-preview'
  | 'cap-widened'
  | 'limit-widened'
  | 'cap-exceeded'
  | 'hold-record'
  | 'hold-amount'
  | 'overdraft'
  | 'uncertain-amount'
  | 'cost-usage'
  | 'outcome-spent'
  | 'outcome-envelope'
  | 'outcome-answer'
  | 'outcome-limit'
  | 'outcome-spawned';

export type AuditProblems = {
  readonly list: readonly AuditProblem[];
  add(code: ProblemCode, where: string, message: string): void;
};

/** A check of every frame. `release`: forgets a cell that has ended. */
export type Check = { next(frame: Frame): void; release?(cell: CellId): void };

export const startProblems = (): AuditProblems => {
  const list: AuditProblem[] = [];
  return { list, add: (code, where, message) => void list.push({ code, where, message }) };
};

/** `frame 3, cell lead-1, operation 2`. */
export const problemLocation = (frame: Frame, cell: CellId = frame.cell, op?: number): string =>
  `frame ${frame.no}, cell ${cell}${op === undefined ? '' : `, operation ${op}`}`;
