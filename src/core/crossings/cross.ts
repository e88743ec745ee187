// The one door between cells.
//
//   C1. Content enters a cell only as a `Crossed`, and only `cross` makes one (resume remakes it from the ledger).
//   C2. Every decision is in the frame of its effect, refusals too: it is synchronous, and nothing awaits before the frame.
//   C3. What crosses is a frozen copy: nobody can change it after the ledger has seen it.
//   C4. Grants are handed in; a decision that throws denies.
import type { Crossed, CrossingContent, Crossing, CrossingKind, Grant, CrossingRefusal } from '#contracts';
import { decide } from './decide.ts';
import type { Uses, Verdict } from './decide.ts';
import type { Ledger } from './ledger.ts';

export type Door = {
  readonly grants: readonly Grant[];
  readonly ledger: Ledger;
  readonly at: number;
  readonly uses?: Uses;
};

export type CrossingPass<K extends CrossingKind> = { readonly crossed: Crossed<K>; readonly seq: number };

export const cross = <K extends CrossingKind>(crossing: Crossing<K>, door: Door): CrossingPass<K> | CrossingRefusal => {
  const copy = frozenCrossing(crossing);
  const verdict = decideOrDeny(copy, door);
  const seq = door.ledger.recordDecision(copy, verdict, door.at);
  // probe: cross-refused
  if (!verdict.allowed) return { refused: verdict.reason };
  door.uses?.set(verdict.grant, (door.uses.get(verdict.grant) ?? 0) + 1);
  return { crossed: seal(copy), seq };
};

/** Resume's constructor: from a content that the ledger holds. */
export const restoreCrossing = (content: CrossingContent): Crossed => seal(frozenCrossing(content));

const seal = <K extends CrossingKind>(crossing: Crossing<K>): Crossed<K> => crossing as Crossed<K>;

const frozenCrossing = <K extends CrossingKind>({ kind, from, to, content, labels }: Crossing<K>): Crossing<K> =>
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
