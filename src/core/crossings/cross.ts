// The only way content passes between cells.
//
//   C1. Content enters a cell only as a `Crossed`; the ledger creates it with the entry that `cross` records, or from it on resume.
//   C2. Every decision, refusals included, is in the frame of its effect: deciding is synchronous, and nothing awaits before the frame.
//   C3. A crossing is a frozen copy, so nobody can change it after the ledger has recorded it.
//   C4. Grants are passed in; a decision that throws is a refusal.
import type { Crossed, Crossing, CrossingKind, Grant, CrossingRefusal } from '#contracts';
import { decide } from './decide.ts';
import type { GrantUses, Verdict } from './decide.ts';
import type { Ledger } from './ledger.ts';

export type Door = {
  readonly grants: readonly Grant[];
  readonly ledger: Ledger;
  readonly at: number;
  readonly uses?: GrantUses;
};

export const cross = <K extends CrossingKind>(crossing: Crossing<K>, door: Door): Crossed<K> | CrossingRefusal => {
  const verdict = /* probe: cross-verdict */ decideOrDeny(crossing, door);
  const crossed = door.ledger.recordDecision(crossing, verdict, door.at);
  if (!verdict.allowed || crossed === null) return { refused: verdict.allowed ? 'no-grant' : verdict.reason };
  door.uses?.set(verdict.grant, (door.uses.get(verdict.grant) ?? 0) + 1);
  return crossed;
};

const decideOrDeny = (crossing: Crossing, door: Door): Verdict => {
  try {
    return decide(crossing, door.grants, door.at, door.uses);
  } catch {
    return { allowed: false, reason: 'filter-failed' };
  }
};
