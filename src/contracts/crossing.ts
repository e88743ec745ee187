import type { CellId, Hash } from '#base';

export type CrossingKind =
  | 'goal'
  | 'result'
  | 'share'
  | 'dependency'
  | 'message'
  | 'broadcast'
  | 'note'
  | 'file'
  | 'attachment'
  | 'answer'
  | 'tools'
  | 'history';

/** One end of a crossing. `outside`: the person or program that requested the run. */
export type CrossingEnd = CellId | 'outside';

export type Label = 'secret' | 'untrusted';

export type Crossing<K extends CrossingKind = CrossingKind> = {
  readonly kind: K;
  readonly from: CrossingEnd;
  readonly to: CrossingEnd;
  readonly content: string;
  readonly labels: readonly Label[];
};

/** A crossing as the log holds it. `cell` and `seq`: its entry in the receiver's ledger, or in the sender's if it went `outside`. */
export type CrossingContent<K extends CrossingKind = CrossingKind> = Crossing<K> & {
  readonly cell: CellId;
  readonly seq: number;
};

/** Makes `Crossed` nominal: a literal, a copy or a spread does not have it. */
declare abstract class Sealed {
  private readonly underSeal: true;
}

/** Content that has crossed. Only a run's ledger creates one, and the run checks that it did. */
export type Crossed<K extends CrossingKind = CrossingKind> = CrossingContent<K> & Sealed;

/** The closed list of reasons for refusing a crossing. */
export type RefusalReason = 'no-grant' | 'label' | 'filter-failed';
export type CrossingRefusal = { readonly refused: RefusalReason };

/** The grants an agent's definition can list. Default: `goal`, `result` and `note`. */
export type GrantName = 'goal' | 'result' | 'note' | 'history' | 'share';

/** Parts of its caller's window that an agent is given when it starts. */
export type ShareName = 'system' | 'context';

/**
 * One shared message. The content of a `share` crossing is a list of these, as JSON. SYSTEM: the caller's own prompt, which an
 * operator wrote, or the instructions of a caller outside; the receiver gets it as system text. CONTEXT: data.
 */
export type SharedMessage = { readonly category: 'SYSTEM' | 'CONTEXT'; readonly text: string };

/** One crossing decision in one cell's ledger. */
export type LedgerEntry = {
  readonly seq: number;
  readonly at: number;
  readonly way: 'in' | 'out';
  readonly kind: CrossingKind;
  readonly other: CrossingEnd;
  readonly grant: string | null;
  readonly sha256: Hash;
  readonly bytes: number;
  readonly tokens: number;
  readonly labels: readonly Label[];
  readonly verdict: 'granted' | RefusalReason;
};

/** One link of a cell's hash chain: all of its entries in one frame. `hash` = sha256(previous ‖ canonical entries). */
export type LedgerLink = {
  readonly cell: CellId;
  readonly entries: readonly LedgerEntry[];
  readonly previous: Hash;
  readonly hash: Hash;
};

/** Every crossing decision of one cell, in order, as the log has them. */
export type CellLedger = {
  readonly cell: CellId;
  readonly parent: CellId | null;
  readonly agent: string;
  /** The entries of each frame that has some, with their link of the hash chain. `frame`: its number in the log. */
  readonly links: readonly (Omit<LedgerLink, 'cell'> & { readonly frame: number })[];
};
