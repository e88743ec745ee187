// The ledger of each cell: every decision about what crosses into or out of it, with its hash chain.
import type { CellId } from '#base';
import type { Birth, CellLedger, Frame } from '#contracts';

/** `frames`: one run in log order. Cells are in order of creation. */
export const readLedgers = (frames: readonly Frame[]): readonly CellLedger[] => {
  const ledgers = new Map<CellId, CellLedger & { readonly links: CellLedger['links'][number][] }>();
  const addCell = ({ cell, parent, agent }: Birth): void => {
    if (!ledgers.has(cell)) ledgers.set(cell, { cell, parent, agent, links: [] });
  };
  for (const { no: frame, record, links = [] } of frames) {
    if (record.type === 'open') addCell(record.birth);
    if (record.type === 'begin' && record.birth !== undefined) addCell(record.birth);
    for (const { cell, ...link } of links) ledgers.get(cell)?.links.push({ frame, ...link });
  }
  return [...ledgers.values()];
};
