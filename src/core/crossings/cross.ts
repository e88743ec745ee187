// The only way content passes between cells.
//
//   C1. Content enters a cell only as a `Crossed`, and only `cross` creates one (resume recreates it from the ledger).
//   C2. Every decision, refusals included, is in the frame of its effect: deciding is synchronous, and nothing awaits before the frame.
//   C3. A crossing is a frozen copy, so nobody can change it after the ledger has recorded it.
//   C4. Grants are passed in; a decision that throws is a refusal.
import type { Crossed, CrossingContent, Crossing, CrossingKind, Grant, CrossingRefusal } from '#contracts';
import { decide } from './decide.ts';
import type { GrantUses, Verdict } from './decide.ts';
import type { Ledger } from './ledger.ts';

export type Door = {
  readonly grants: readonly Grant[];
  readonly ledger: Ledger;
  readonly at: number;
  readonly uses?: GrantUses;
};

export type CrossingPass<K extends CrossingKind> = { readonly crossed: Crossed<K>; readonly seq: number };

export const cross = <K extends CrossingKind>(crossing: Crossing<K>, door: Door): CrossingPass<K> | CrossingRefusal => {
  const copy = freezeCrossing(crossing);
  const verdict = decideOrDeny(copy, door);
  const seq = door.ledger.recordDecision(copy, verdict, door.at);
  // probe: cross-refused
  if (!verdict.allowed) return { refused: verdict.reason };
  door.uses?.set(verdict.grant, (door.uses.get(verdict.grant) ?? 0) + 1);
  return { crossed: seal(copy), seq };
};

/** For resume: recreates a crossing from content that the ledger holds. */
export const restoreCrossing = (content: CrossingContent): Crossed => seal(freezeCrossing(content));

const seal = <K extends CrossingKind>(crossing: Crossing<K>): Crossed<K> => crossing as Crossed<K>;

const freezeCrossing = <K extends CrossingKind>({ kind, from, to, content, labels }: Crossing<K>): Crossing<K> =>
  Object.freeze({
    kind,
    from,
    to,
    content,
    labels: labels.length === 0 ? noLabels : Object.freeze([...labels]),
  });

const noLabels: readonly never[] = Object.freeze([]);

const decideOrDeny = (crossing: Crossing, door: Door): Verdict => {
  try {
    return decide(crossing, door.grants, door.at, door.uses);
  } catch {
    return { allowed: false, reason: 'filter-failed' };
  }
};
