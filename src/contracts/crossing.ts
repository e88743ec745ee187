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
  | 'history'
  | 'checkpoint';

/** One end of a crossing. `outside` is the person or program that asked for the run. */
export type CrossingEnd = CellId | 'outside';

export type Label = 'secret' | 'untrusted';

export type Crossing<K extends CrossingKind = CrossingKind> = {
  readonly kind: K;
  readonly from: CrossingEnd;
  readonly to: CrossingEnd;
  readonly content: string;
  readonly labels: readonly Label[];
};

declare const crossed: unique symbol;
/** Content that went through the door. Only `cross` makes one (and resume, from the ledger). */
export type Crossed<K extends CrossingKind = CrossingKind> = Crossing<K> & { readonly [crossed]: K };

/** The closed list of reasons for which the door says no. */
export type RefusalReason = 'no-grant' | 'expired' | 'used-up' | 'revoked' | 'label' | 'filter-failed';
export type CrossingRefusal = { readonly refused: RefusalReason };

/** How an agent's definition names what may cross. `goal`, `result` and `note` are the default. */
export type GrantName = 'goal' | 'result' | 'note' | 'history' | 'share';

/** What of its caller's window an agent is given at its birth. */
export type ShareName = 'system' | 'context';

/** One message of a window as it is shared: the content of a `share` crossing is a list of them, as JSON. */
export type SharedMessage = { readonly category: 'SYSTEM' | 'CONTEXT'; readonly text: string };

/** Permission for one kind of crossing between two ends. Made from definitions and code, never by what crosses. */
export type Grant = {
  readonly name: string;
  readonly kind: CrossingKind;
  readonly from: CrossingEnd;
  readonly to: CrossingEnd;
  readonly countMax?: number;
  readonly expiresAt?: number;
  readonly revoked?: boolean;
  readonly refuses?: readonly Label[];
};

/** One decision of the door, as one cell's ledger keeps it. */
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
