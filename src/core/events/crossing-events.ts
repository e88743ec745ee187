// The events of the crossings in one frame.
import type { CellId } from '#base';
import type { Frame, LedgerEntry } from '#contracts';
import type { EventBody } from './event-envelope.ts';

/** Each crossing once: from the sender's ledger or, if it came from outside, from the receiver's. */
export const crossingEvents = (frame: Frame): readonly EventBody[] =>
  (frame.links ?? []).flatMap(({ cell, entries }) =>
    entries.filter(({ way, other }) => way === 'out' || other === 'outside').map((entry) => crossingEvent(cell, entry)),
  );

const crossingEvent = (cell: CellId, { way, kind, other, grant, bytes, sha256, verdict }: LedgerEntry): EventBody => {
  const [from, to] = way === 'in' ? [other, cell] : [cell, other];
  return verdict === 'granted'
    ? { type: 'crossing', cell, kind, from, to, grant: grant ?? '', bytes, sha256 }
    : { type: 'crossing-refused', cell, kind, from, to, reason: verdict, bytes };
};
