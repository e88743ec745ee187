// The entry of a ledger that a crossing left there.
import type { CellLedger, LedgerEntry } from '#contracts';
import type { CrossingView } from '#headends/run-view';

export type FoundEntry = { readonly link: CellLedger['links'][number]; readonly entry: LedgerEntry };

/** The same content may cross several times: the third crossing of its kind is the third such entry. Null: it has none. */
export const findEntry = (
  { links }: Pick<CellLedger, 'links'>,
  way: 'in' | 'out',
  crossing: CrossingView,
  all: readonly CrossingView[],
): FoundEntry | null => {
  const { id, from, to, kind, bytes, sha256, refused } = crossing;
  const before = all
    .slice(
      0,
      all.findIndex((one) => one.id === id),
    )
    .filter((one) => one.from === from && one.to === to && one.kind === kind && isAlike(one, crossing)).length;
  const other = way === 'in' ? from : to;
  const verdict = refused ?? 'granted';
  const found = links
    .flatMap((link) => link.entries.map((entry) => ({ link, entry })))
    .filter(
      ({ entry }) =>
        entry.way === way &&
        entry.other === other &&
        entry.kind === kind &&
        entry.bytes === bytes &&
        entry.verdict === verdict &&
        (sha256 === null || entry.sha256 === sha256),
    );
  return found[before] ?? null;
};

const isAlike = (one: CrossingView, { bytes, sha256, refused }: CrossingView): boolean =>
  one.bytes === bytes && one.sha256 === sha256 && one.refused === refused;
